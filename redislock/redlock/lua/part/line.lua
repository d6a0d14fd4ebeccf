-- Joins the line with a ticket, which is a client's clock in µs, and lets the line
-- live for a minute beyond the holder. A ticket counts for a minute's wait at most,
-- and a clock that is ahead loses a minute at most. Those who barge have tickets
-- below 0.
local function join(line, entry, ticket, left)
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local us, shift = tonumber(ticket), 0
  if us < 0 then
    shift = -4503599627370496
  end
  us = math.min(math.max(us - shift, now - 60000000), now + 60000000) + shift
  redis.call('ZADD', line, 'NX', string.format('%.0f', us), entry)
  local lasts = math.min(math.max(left, 0), 1e14) + 60000
  if redis.call('PTTL', line) < lasts then
    redis.call('PEXPIRE', line, string.format('%.0f', lasts))
  end
end

-- Hands a free lock to the first in line who can be reached, and returns the
-- holder: the caller itself, if it is first, has to take it on its own. False if
-- there is nobody.
local function hand_over(lock, counter, line, proposed, kin, caller)
  for _ = 1, 512 do
    local entry = redis.call('ZRANGE', line, '0', '0')[1]
    if not entry then
      return false
    end
    local holder, client, gttl, meta = string.match(entry, '^(%S+) (%S+) (%d+) (%S*)$')
    if holder and holder == caller then
      return holder
    end
    redis.call('ZREM', line, entry)
    if holder then
      -- What is published leaves the server when this script has ended.
      local heard = redis.pcall('PUBLISH', kin .. 'k:' .. client, 'g ' .. holder .. ' ' .. lock)
      if type(heard) == 'number' and heard > 0 then
        local number = mint(counter, proposed)
        redis.call('SET', lock, 'fh1:' .. holder .. ':' .. number .. ':1:' .. meta, 'PX', gttl)
        return holder
      end
    end
  end
  return false
end

-- Gives up a lock that is the caller's: to the line if this node votes, or to
-- nobody. Deleting is possible without memory.
local function give_up(lock, counter, marker, line, members, proposed, kin, holder)
  redis.call('DEL', lock)
  if redis.call('GET', marker) == members then
    pcall(hand_over, lock, counter, line, proposed, kin, holder)
  end
end
