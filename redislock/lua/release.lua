-- release: ends a grant and hands the lock on; also leaves the line.
-- KEYS: 1 lock, 2 counter, 3 line
-- ARGV: 1 holder, 2 WHERE; for more than a release also: 3 how long to keep the
--       lock taken in ms, or 0, 4 the value to keep it under, 5 the entry to
--       remove, or empty
-- Answers: R            released
--          N WORD VALUE not the holder's; WORD says how it was revoked, or is -
local holder = ARGV[1]

--include quick

--include value
--include message
--include mint
--include line

local kin, tag = place(ARGV[2])
local keep, entry = tonumber(ARGV[3] or '0'), ARGV[5] or ''
local front = false
if entry ~= '' then
  front = redis.call('ZRANK', KEYS[3], entry) == 0
  redis.call('ZREM', KEYS[3], entry)
end
local value, kind = current(KEYS[1])
if not is_mine(value, holder) then
  -- Whoever is in front now has to look after a stranger, and at once.
  if front and (kind or value and string.sub(value, 1, 4) ~= 'fh1:') then
    tell_front(redis.call('ZRANGE', KEYS[3], '0', '7'), 1, kin, tag, '-1')
  end
  return 'N ' .. word_for(kin, tag, holder) .. ' ' .. (kind or shown(value))
end
if keep > 0 then
  local token, meta = string.match(value, '^fh1:[^:]+:(%d+):%d+:(.*)$')
  local kept = redis.pcall('SET', KEYS[1], ARGV[4] .. token .. ':1:k=1&' .. meta, 'PX', ARGV[3])
  if kept.err then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
  tell_front(redis.call('ZRANGE', KEYS[3], '0', '7'), 1, kin, tag, ARGV[3])
  return 'R'
end
give_up(KEYS[1], value, KEYS[2], KEYS[3], kin, tag)
return 'R'
