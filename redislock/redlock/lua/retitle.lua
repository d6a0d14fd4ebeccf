-- retitle: changes the marker of a member.
-- KEYS: 1 marker
-- ARGV: 1 the marker that it has, 2 the marker that it gets
-- Answers: A     done
--          E     it has another one
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'E'
end
redis.call('SET', KEYS[1], ARGV[2])
return 'A'
