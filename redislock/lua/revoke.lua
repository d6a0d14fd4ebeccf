-- revoke: takes the lock from a holder, tells the victim, and hands it on.
-- KEYS: 1 lock, 2 counter, 3 line, 4 where word is left for the victim
-- ARGV: 1 holder, or empty, 2 SHA-1 of a stranger's value, or empty, 3 KIN, 4 TAG,
--       5 word, 6 how long it is left in ms, 7 what the victim's channel begins with,
--       8 the lock's name, quoted
-- Answers: R, or N - VALUE
--include value
--include message
--include mint
--include line

local value, kind = current(KEYS[1])
local theirs = ARGV[1] ~= '' and is_mine(value, ARGV[1])
local strange = ARGV[2] ~= '' and value and redis.sha1hex(value) == ARGV[2]
if not theirs and not strange then
  return 'N - ' .. (kind or shown(value))
end
if theirs then
  -- Without memory the victim learns less, not later.
  redis.pcall('SET', KEYS[4], ARGV[5], 'PX', ARGV[6])
  local client = string.match(value, '[:&]c=([^&]+)')
  if client then
    redis.pcall('PUBLISH', ARGV[7] .. client, 'l ' .. ARGV[1] .. ' ' .. ARGV[5] .. ' ' .. ARGV[8])
  end
end
give_up(KEYS[1], value, KEYS[2], KEYS[3], ARGV[3], ARGV[4])
return 'R'
