-- mend: puts a grant back that this node has lost, while others have it.
-- KEYS: 1 lock, 2 counter, 3 marker
-- ARGV: 1 the value, 2 TTL in ms, 3 token, 4 the marker of members
-- Answers: G TOKEN TTL    it is there again
--          N              somebody has the lock
--          A              does not vote
--include raise

if redis.call('GET', KEYS[3]) ~= ARGV[4] then
  return 'A'
end
if not redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  return 'N'
end
raise(KEYS[2], ARGV[3])
return 'G ' .. ARGV[3] .. ' ' .. ARGV[2]
