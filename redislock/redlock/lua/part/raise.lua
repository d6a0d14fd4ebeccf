-- Sees to it that the counter is not below a number.
local function raise(counter, number)
  if tonumber(redis.call('GET', counter) or '0') < tonumber(number) then
    redis.call('SET', counter, number)
  end
end

-- Gives a value another number, and a life of ttl ms.
local function renumber(lock, value, number, ttl)
  local head, tail = string.match(value, '^(fh1:[^:]*:)%d+(:.*)$')
  redis.call('SET', lock, head .. number .. tail, 'PX', ttl)
end
