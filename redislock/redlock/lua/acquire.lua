-- acquire: takes the lock for a holder, or joins the line for it.
-- KEYS: 1 lock, 2 counter, 3 marker, 4 line
-- ARGV: 1 holder, 2 TTL in ms, 3 meta, 4 the marker of members, 5 proposed number,
--       6 KIN, 7 mode (try, barge, wait); to wait also 8 client, 9 GTTL in ms, 10 ticket
-- Answers: G NUMBER LEFT             has it
--          B KIND LEFT VALUE         busy; KIND is s for a string, or a type
--          W RANK LEFT KIND VALUE    busy, and in line
--          A                         does not vote
if redis.call('GET', KEYS[3]) ~= ARGV[4] then
  return 'A'
end
local holder, ttl, mode = ARGV[1], ARGV[2], ARGV[7]

--include mint

-- Most often the lock is free and nobody waits for it.
if redis.call('EXISTS', KEYS[1], KEYS[4]) == 0 or mode == 'barge' and redis.call('EXISTS', KEYS[1]) == 0 then
  local number = mint(KEYS[2], ARGV[5])
  redis.call('SET', KEYS[1], 'fh1:' .. holder .. ':' .. number .. ':1:' .. ARGV[3], 'PX', ttl)
  return 'G ' .. number .. ' ' .. ttl
end

-- A replica repeats what another server says, and must not vote: it refuses this.
redis.call('ZREM', KEYS[4], '')

--include value
--include line

local waits = mode == 'wait'
local entry = waits and holder .. ' ' .. ARGV[8] .. ' ' .. ARGV[9] .. ' ' .. ARGV[3]
local value, kind = current(KEYS[1])
if is_mine(value, holder) then
  local left = redis.call('PTTL', KEYS[1])
  if waits then
    redis.call('ZREM', KEYS[4], entry)
  end
  if left < 0 or waits and left < tonumber(ttl) then
    left = ttl
    redis.call('PEXPIRE', KEYS[1], ttl)
  end
  return 'G ' .. number_of(value) .. ' ' .. left
end

if waits then
  join(KEYS[4], entry, ARGV[10], redis.call('PTTL', KEYS[1]))
end
if not value and not kind then
  local winner = hand_over(KEYS[1], KEYS[2], KEYS[4], ARGV[5], ARGV[6], holder)
  if not winner or winner == holder then
    local number = mint(KEYS[2], ARGV[5])
    redis.call('SET', KEYS[1], 'fh1:' .. holder .. ':' .. number .. ':1:' .. ARGV[3], 'PX', ttl)
    if waits then
      redis.call('ZREM', KEYS[4], entry)
    end
    return 'G ' .. number .. ' ' .. ttl
  end
  value = redis.call('GET', KEYS[1])
end

local left = string.format('%.0f', redis.call('PTTL', KEYS[1]))
if not waits then
  return 'B ' .. (kind or 's') .. ' ' .. left .. ' ' .. shown(value)
end
return 'W ' .. (redis.call('ZRANK', KEYS[4], entry) or 0) .. ' ' .. left .. ' ' .. (kind or 's') .. ' ' .. shown(value)
