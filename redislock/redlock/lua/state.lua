-- state: what a node knows of its membership.
-- KEYS: 1 marker, 2 join time, 3 counter
-- Answers: NOW JOINED COUNTER MARKER; times in µs of the node's clock, - for none
local time = redis.call('TIME')
return string.format('%.0f', time[1] * 1000000 + time[2]) .. ' ' .. (redis.call('GET', KEYS[2]) or '-') .. ' '
  .. (redis.call('GET', KEYS[3]) or '-') .. ' ' .. (redis.call('GET', KEYS[1]) or '-')
