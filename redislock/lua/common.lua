-- What the scripts share; it stands before each of them.
-- Arguments KIN and TAG: helper keys are KIN .. letter .. TAG .. ':' .. id, and
-- TAG is empty outside of a Cluster.

-- The value of the lock, or false; and the type of a key that is no string.
local function current(lock)
  local value = redis.pcall('GET', lock)
  if type(value) ~= 'table' then
    return value, nil
  end
  if string.find(value.err, 'WRONGTYPE', 1, true) then
    return false, redis.call('TYPE', lock).ok
  end
  return redis.call('GET', lock), nil
end

local function is_mine(value, holder)
  local head = 'fh1:' .. holder .. ':'
  return value and string.sub(value, 1, #head) == head
end

-- What an answer shows of a value: a stranger's may be of any size.
local function shown(value)
  return string.sub(value or '', 1, 2048)
end

-- Counts subscribers of this node. Without the right to ask it says one: a
-- message to nobody is found out by whoever misses it.
local function subscribers(channel, tag)
  local found = redis.pcall('PUBSUB', tag == '' and 'NUMSUB' or 'SHARDNUMSUB', channel)
  return tonumber(found[2]) or 1
end

local function tell(channel, tag, message)
  return redis.pcall(tag == '' and 'PUBLISH' or 'SPUBLISH', channel, message)
end

-- The next token: above all before, and of the server's clock. The counter may
-- expire a month after the clock has passed it.
local function mint(counter)
  local time = redis.call('TIME')
  local us = time[1] * 1000000 + time[2]
  local last = tonumber(redis.call('GET', counter) or '0')
  local token = us
  if last >= us then
    token = last + 1
  end
  if token > 9007199254740991 then
    error('the token counter is above 2^53-1')
  end
  local text = string.format('%.0f', token)
  local kept = redis.pcall('SET', counter, text, 'PX', string.format('%.0f', 2592000000 + (token - us) / 1000))
  if kept.err then
    return nil, kept
  end
  return text
end

local function value_of(holder, token, meta)
  return 'fh1:' .. holder .. ':' .. token .. ':1:' .. meta
end

-- The channel on which a waiter listens, nil without a sign of life.
local function inbox(kin, tag, client)
  local life = redis.call('GET', kin .. 'p' .. tag .. ':' .. client)
  return life and string.match(life, ' (%S+)$')
end

-- Tells the first of some entries that it is the front now, and how long the
-- holder has.
local function tell_front(entries, first, kin, tag, remaining)
  for i = first, #entries do
    local holder, client = string.match(entries[i], '^(%S+) (%S+)')
    local channel = inbox(kin, tag, client)
    if channel then
      tell(channel, tag, 'f ' .. holder .. ' ' .. remaining)
      return
    end
  end
end

-- Tries the entries in order. Returns the winner, or false; and an error of
-- the service if there was no memory for a grant.
local function hand_to(entries, lock, counter, line, kin, tag)
  local gone = {}
  local winner, refused = false, nil
  for i, entry in ipairs(entries) do
    local holder, client, gttl, meta = string.match(entry, '^(%S+) (%S+) (%d+) (%S*)$')
    local channel = inbox(kin, tag, client)
    if not channel then
      gone[#gone + 1] = entry
    elseif subscribers(channel, tag) > 0 then
      local token
      token, refused = mint(counter)
      if token then
        redis.call('SET', lock, value_of(holder, token, meta), 'PX', gttl)
        gone[#gone + 1] = entry
        redis.call('ZREM', line, unpack(gone))
        tell(channel, tag, 'g ' .. holder .. ' ' .. token .. ' ' .. gttl)
        tell_front(entries, i + 1, kin, tag, gttl)
        return { holder = holder, token = token, ttl = gttl }
      end
      break
    end
  end
  if #gone > 0 then
    redis.call('ZREM', line, unpack(gone))
  end
  return false, refused
end

-- Hands the lock to the first in line who can be reached. Most often that is
-- the first of all, so only two are looked at before the rest is.
local function hand_over(lock, counter, line, kin, tag)
  local entries = redis.call('ZRANGE', line, 0, 1)
  if #entries == 0 then
    return false
  end
  local winner, refused = hand_to(entries, lock, counter, line, kin, tag)
  if winner or refused then
    return winner, refused
  end
  return hand_to(redis.call('ZRANGE', line, 0, 127), lock, counter, line, kin, tag)
end

-- Gives up a lock that is the caller's: to the line, or to nobody. Deleting is
-- possible without memory; the front is told to try for itself then.
local function give_up(lock, counter, line, kin, tag)
  local winner, refused = hand_over(lock, counter, line, kin, tag)
  if winner then
    return
  end
  redis.call('DEL', lock)
  if refused then
    tell_front(redis.call('ZRANGE', line, 0, 7), 1, kin, tag, '0')
  end
end

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
