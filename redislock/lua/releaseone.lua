-- releaseone: ends a grant on its one key, while the slot of the others moves.
-- KEYS: 1 lock
-- ARGV: 1 holder
-- Answers: R, or N - VALUE
--include value

local value, kind = current(KEYS[1])
if not is_mine(value, ARGV[1]) then
  return 'N - ' .. (kind or shown(value))
end
redis.call('DEL', KEYS[1])
return 'R'
