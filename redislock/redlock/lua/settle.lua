-- settle: gives a grant the number that all nodes are to have.
-- KEYS: 1 lock, 2 counter
-- ARGV: 1 holder, 2 the number that this node gave out, 3 the number to have
-- Answers: G NUMBER LEFT, or N VALUE: it is not that grant any more
--include value
--include raise

local value, kind = current(KEYS[1])
if not is_mine(value, ARGV[1]) then
  return 'N ' .. (kind or shown(value))
end
local number = number_of(value)
-- Numbers are never given out twice: with the same one it is the same grant, and
-- nobody else had the lock in between.
if number ~= ARGV[3] then
  if number ~= ARGV[2] then
    return 'N ' .. shown(value)
  end
  renumber(KEYS[1], value, ARGV[3], redis.call('PTTL', KEYS[1]))
  raise(KEYS[2], ARGV[3])
end
return 'G ' .. ARGV[3] .. ' ' .. redis.call('PTTL', KEYS[1])
