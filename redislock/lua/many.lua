-- many: acquires and releases of several holders, as far as they are simple: the
-- lock is free, or the holder's, and nobody waits for it.
-- KEYS: 1 counter, then for each one: lock, line
-- ARGV: for each one: holder, TTL in ms or empty for a release, meta
-- Answers, one on a line: TOKEN  granted
--                         R      released
--                         -      not simple, or not together: nothing was done
--                         E TEXT the service's error: nothing was done
local grants = 0
for i = 2, #ARGV, 3 do
  if ARGV[i] ~= '' then
    grants = grants + 1
  end
end

-- The tokens of all are taken first: none is given out twice, wherever it ends.
local token, trouble = 0, nil
if grants > 0 then
  local time = redis.call('TIME')
  token = time[1] * 1000000 + time[2]
  local last = redis.pcall('SET', KEYS[1], string.format('%.0f', token + grants - 1), 'GET')
  if type(last) == 'table' then
    trouble = 'E ' .. last.err
  elseif last and (tonumber(last) or 0) >= token then
    -- The clock is behind the counter.
    token = tonumber(last) + 1
    if token + grants - 1 > 9007199254740991 then
      -- Some of them may be the last ones: each is made alone.
      redis.call('SET', KEYS[1], last)
      trouble = '-'
    else
      redis.call('SET', KEYS[1], string.format('%.0f', token + grants - 1))
    end
  end
end

local answers = {}
for i = 1, #ARGV / 3 do
  local lock, line = KEYS[2 * i], KEYS[2 * i + 1]
  local holder, ttl, meta = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  local answer = '-'
  if ttl == '' then
    if redis.call('EXISTS', line) == 0 then
      local head = 'fh1:' .. holder .. ':'
      local value = redis.pcall('GET', lock)
      if type(value) == 'string' and string.sub(value, 1, #head) == head then
        redis.call('DEL', lock)
        answer = 'R'
      end
    end
  elseif trouble then
    answer = trouble
  elseif redis.call('EXISTS', lock, line) == 0 then
    answer = string.format('%.0f', token)
    token = token + 1
    local set = redis.pcall('SET', lock, 'fh1:' .. holder .. ':' .. answer .. ':1:' .. meta, 'PX', ttl)
    if set.err then
      answer = 'E ' .. set.err
    end
  end
  answers[i] = answer
end
return table.concat(answers, '\n')
