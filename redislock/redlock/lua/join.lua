-- join: writes down since when a node is known to have lost its memory.
-- KEYS: 1 marker, 2 join time
-- Answers: J JOINED NOW    in µs of the node's clock
--          M MARKER        it is a member
local marker = redis.call('GET', KEYS[1])
if marker then
  return 'M ' .. marker
end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
redis.call('SET', KEYS[2], now, 'NX')
return 'J ' .. redis.call('GET', KEYS[2]) .. ' ' .. now
