-- release: ends a grant and hands the lock on; also leaves the line, or stays there.
-- KEYS: 1 lock, 2 counter, 3 marker, 4 line
-- ARGV: 1 holder, 2 the marker of members, 3 proposed number, 4 KIN, 5 the entry in
--       line, or empty, 6 the ticket to stay in line with, or empty to leave it
-- Answers: R            released
--          N WORD VALUE not the holder's; WORD says how it was revoked, or is -
local holder = ARGV[1]

-- Most often the lock is the holder's and nobody waits for it.
if ARGV[6] == '' and redis.call('EXISTS', KEYS[4]) == 0 then
  local head = 'fh1:' .. holder .. ':'
  local value = redis.pcall('GET', KEYS[1])
  if type(value) == 'string' and string.sub(value, 1, #head) == head then
    redis.call('DEL', KEYS[1])
    return 'R'
  end
end

--include value
--include mint
--include line

local value, kind = current(KEYS[1])
if ARGV[6] ~= '' then
  join(KEYS[4], ARGV[5], ARGV[6], redis.call('PTTL', KEYS[1]))
elseif ARGV[5] ~= '' then
  redis.call('ZREM', KEYS[4], ARGV[5])
end
if not is_mine(value, holder) then
  return 'N ' .. word_for(ARGV[4], holder) .. ' ' .. (kind or shown(value))
end
give_up(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[2], ARGV[3], ARGV[4], holder)
return 'R'
