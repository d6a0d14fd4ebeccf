-- Renews the sign of life of a client, and returns its incarnation. One that
-- names another channel is a new one: a late request may have named a channel of
-- long ago, and who was passed over meanwhile has to notice.
local function refresh(key, channel, life)
  local old = redis.call('GET', key)
  if old and string.sub(old, -#channel - 1) == ' ' .. channel then
    -- Possible without memory, too.
    redis.call('PEXPIRE', key, life)
    return string.match(old, '^%S+')
  end
  local time = redis.call('TIME')
  local incarnation = time[1] .. '.' .. time[2]
  redis.call('SET', key, incarnation .. ' ' .. channel, 'PX', life)
  return incarnation
end
