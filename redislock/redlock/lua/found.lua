-- found: makes a node without memory the member of a new set, at once after it
-- was seen to have none.
-- KEYS: 1 marker, 2 join time
-- ARGV: 1 marker, 2 the node's clock in µs when it was seen, 3 limit in µs
-- Answers: F            done
--          M MARKER     it is a member
--          J            it is joining
--          L            too late: it may have been emptied since
local marker = redis.call('GET', KEYS[1])
if marker then
  return 'M ' .. marker
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return 'J'
end
local time = redis.call('TIME')
local age = time[1] * 1000000 + time[2] - ARGV[2]
if age < 0 or age > tonumber(ARGV[3]) then
  return 'L'
end
redis.call('SET', KEYS[1], ARGV[1])
return 'F'
