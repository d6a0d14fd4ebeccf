-- ping: a sign of life for everything that a client waits for here.
-- KEYS: 1 sign of life, 2 counter
-- ARGV: 1 channel, 2 life in ms, 3 TAG
-- Answers: COUNTER INCARNATION SUBSCRIBERS; COUNTER is - if there is none
--include message
--include life

local incarnation = refresh(KEYS[1], ARGV[1], ARGV[2])
return (redis.call('GET', KEYS[2]) or '-') .. ' ' .. incarnation .. ' ' .. subscribers(ARGV[1], ARGV[3])
