-- Renews the sign of life of a client, and returns its incarnation. PEXPIRE
-- is possible without memory.
local function refresh(key, channel, life, nonce)
  local old = redis.call('GET', key)
  local incarnation = old and string.match(old, '^(%S+) ') or nonce
  local new = incarnation .. ' ' .. channel
  if old == new then
    redis.call('PEXPIRE', key, life)
  else
    redis.call('SET', key, new, 'PX', life)
  end
  return incarnation
end
