-- renew: lets a grant live on, and never shorter.
-- KEYS: 1 lock
-- ARGV: 1 holder, 2 TTL in ms, 3 WHERE
-- Answers: G TOKEN RANGE TTL, or N WORD VALUE
--include value

local value, kind = current(KEYS[1])
if not is_mine(value, ARGV[1]) then
  local kin, tag = place(ARGV[3])
  return 'N ' .. word_for(kin, tag, ARGV[1]) .. ' ' .. (kind or shown(value))
end
local ttl = ARGV[2]
local left = redis.call('PTTL', KEYS[1])
if left > tonumber(ttl) then
  ttl = left
end
-- Written even if nothing changes: WAIT confirms what its connection wrote.
redis.call('PEXPIRE', KEYS[1], ttl)
local token, range = string.match(value, ':(%d+):(%d+):')
return 'G ' .. token .. ' ' .. range .. ' ' .. ttl
