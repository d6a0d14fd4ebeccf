-- put: a lock that a node has forgotten, if it has none of that name yet.
-- KEYS: 1 lock, 2 marker
-- ARGV: 1 value, 2 how long it lives, ms
-- Answers: A    done, or taken already
--          M    the node votes: nothing was done
if redis.call('EXISTS', KEYS[2]) == 1 then
  return 'M'
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX')
return 'A'
