-- revoke: takes the lock from a holder, tells the victim, and hands it on.
-- KEYS: 1 lock, 2 counter, 3 marker, 4 line, 5 where word is left for the victim
-- ARGV: 1 holder, or empty, 2 the marker of members, 3 proposed number, 4 KIN,
--       5 SHA-1 of a stranger's value, or empty, 6 word, 7 how long it is left in ms,
--       8 the lock's name, quoted
-- Answers: R, or N - VALUE
--include value
--include mint
--include line

local value, kind = current(KEYS[1])
local theirs = ARGV[1] ~= '' and is_mine(value, ARGV[1])
local strange = ARGV[5] ~= '' and value and redis.sha1hex(value) == ARGV[5]
if not theirs and not strange then
  return 'N - ' .. (kind or shown(value))
end
if theirs then
  -- Without memory the victim learns less, not later.
  redis.pcall('SET', KEYS[5], ARGV[6], 'PX', ARGV[7])
  local client = string.match(value, '[:&]c=([^&]+)')
  if client then
    redis.pcall('PUBLISH', ARGV[4] .. 'k:' .. client, 'l ' .. ARGV[1] .. ' ' .. ARGV[6] .. ' ' .. ARGV[8])
  end
end
give_up(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
return 'R'
