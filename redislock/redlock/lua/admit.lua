-- admit: lets a node vote that has been joining for long enough.
-- KEYS: 1 marker, 2 join time, 3 counter
-- ARGV: 1 marker, 2 the least counter, 3 how long it must have been joining, µs
-- Answers: A            done
--          M MARKER     it is a member
--          W LEFT       so many µs too early
--          E            it is not joining: it was emptied since, or never began
local marker = redis.call('GET', KEYS[1])
if marker then
  return 'M ' .. marker
end
local joined = redis.call('GET', KEYS[2])
if not joined then
  return 'E'
end
local time = redis.call('TIME')
local left = ARGV[3] - (time[1] * 1000000 + time[2] - joined)
if left > 0 then
  return 'W ' .. string.format('%.0f', left)
end
if tonumber(redis.call('GET', KEYS[3]) or '0') < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[3], ARGV[2])
end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
return 'A'
