local function value_of(holder, token, meta)
  return 'fh1:' .. holder .. ':' .. token .. ':1:' .. meta
end

-- The channel on which a waiter listens: nil without a sign of life, false if
-- that cannot be read, as while the slot moves and it is gone ahead.
local function inbox(kin, tag, client)
  if not client then
    return nil -- the entry is not one of ours, and is dropped
  end
  local life = redis.pcall('GET', kin .. 'p' .. tag .. ':' .. client)
  if type(life) == 'table' then
    return false
  end
  return life and string.match(life, '^%S+ (.+)$') or nil
end

-- Tells the first of some entries that can be reached that it is the front now,
-- and how long the holder has.
local function tell_front(entries, first, kin, tag, remaining)
  for i = first, #entries do
    local holder, client = string.match(entries[i], '^(%S+) (%S+)')
    local channel = inbox(kin, tag, client)
    if channel and tell(channel, tag, 'f ' .. holder .. ' ' .. remaining) ~= 0 then
      return
    end
  end
end

-- Drops the first entries that have no sign of life.
local function drop_dead(line, kin, tag)
  for _, entry in ipairs(redis.call('ZRANGE', line, '0', '7')) do
    if inbox(kin, tag, string.match(entry, '^%S+ (%S+)')) ~= nil then
      return
    end
    redis.call('ZREM', line, entry)
  end
end

-- Tries the entries in order. Returns the winner, or false; an error of the
-- service if there was no memory for a grant; and how many of them stay. FAR is until when, in ms, some
-- in the line may think that the lock is taken; nil if that is not known. Where
-- it is beyond the grant, the front is told, and the value remembers it.
local function hand_to(entries, lock, counter, line, kin, tag, far)
  local gone = {}
  local refused = nil
  for i, entry in ipairs(entries) do
    local holder, client, gttl, meta = string.match(entry, '^(%S+) (%S+) (%d+) (%S*)$')
    local channel = inbox(kin, tag, client)
    if channel == nil then
      gone[#gone + 1] = entry
    elseif channel and subscribers(channel, tag) > 0 then
      local token, now
      token, refused, now = mint(counter)
      if not token then
        break
      end
      local beyond = far and far > now + gttl + 20
      if beyond then
        meta = meta .. '&z=' .. string.format('%.0f', far)
      end
      redis.call('SET', lock, value_of(holder, token, meta), 'PX', gttl)
      gone[#gone + 1] = entry
      redis.call('ZREM', line, unpack(gone))
      -- What is told last leaves the server first.
      if beyond or not far then
        tell_front(entries, i + 1, kin, tag, gttl)
      end
      if type(tell(channel, tag, 'g ' .. holder .. ' ' .. token .. ' ' .. gttl)) == 'table' then
        -- Publishing is not allowed: the winner has to find out at its next ping.
        redis.call('DEL', kin .. 'p' .. tag .. ':' .. client)
      end
      return { holder = holder, token = token, ttl = gttl }
    end
  end
  if #gone > 0 then
    redis.call('ZREM', line, unpack(gone))
  end
  return false, refused, #entries - #gone
end

-- Hands the lock to the first in line who can be reached. Most often that is
-- the first of all, so only two are looked at before the others are, 128 at a
-- time.
local function hand_over(lock, counter, line, kin, tag, far)
  local entries = redis.call('ZRANGE', line, '0', '1')
  if #entries == 0 then
    return false
  end
  local winner, refused = hand_to(entries, lock, counter, line, kin, tag, far)
  if winner or refused then
    return winner, refused
  end
  local first, stay = 0, 0
  for _ = 1, 32 do
    entries = redis.call('ZRANGE', line, first, first + 127)
    winner, refused, stay = hand_to(entries, lock, counter, line, kin, tag, far)
    if winner or refused or #entries < 128 then
      return winner, refused
    end
    first = first + stay
  end
  return false
end

-- Until when, in ms, somebody in the line may think that the lock is taken.
local function told_until(lock, value)
  local left = redis.call('PTTL', lock)
  if left < 0 then
    return nil
  end
  local time = redis.call('TIME')
  local far = time[1] * 1000 + time[2] / 1000 + left
  return math.max(far, tonumber(string.match(value, '&z=(%d+)') or '0'))
end

-- Gives up a lock that is the caller's: to the line, or to nobody. Deleting is
-- possible without memory; the front is told to try for itself then.
local function give_up(lock, value, counter, line, kin, tag)
  local far = told_until(lock, value)
  local winner, refused = hand_over(lock, counter, line, kin, tag, far)
  if winner then
    return
  end
  redis.call('DEL', lock)
  if refused then
    tell_front(redis.call('ZRANGE', line, '0', '7'), 1, kin, tag, '0')
  end
end
