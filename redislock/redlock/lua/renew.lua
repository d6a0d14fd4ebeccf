-- renew: lets a grant live on, and never shorter, under its token.
-- KEYS: 1 lock, 2 counter
-- ARGV: 1 holder, 2 TTL in ms, 3 token, or 0 if it is not known, 4 KIN
-- Answers: G NUMBER LEFT META, or N WORD VALUE; WORD says how it was revoked, or is -
--include value
--include raise

local value, kind = current(KEYS[1])
if not is_mine(value, ARGV[1]) then
  return 'N ' .. word_for(ARGV[4], ARGV[1]) .. ' ' .. (kind or shown(value))
end
local ttl, number = tonumber(ARGV[2]), number_of(value)
ttl = string.format('%.0f', math.max(ttl, redis.call('PTTL', KEYS[1])))
if ARGV[3] == '0' or number == ARGV[3] then
  redis.call('PEXPIRE', KEYS[1], ttl)
else
  renumber(KEYS[1], value, ARGV[3], ttl)
  raise(KEYS[2], ARGV[3])
  number = ARGV[3]
end
return 'G ' .. number .. ' ' .. ttl .. ' ' .. (ARGV[3] == '0' and meta_of(value) or '')
