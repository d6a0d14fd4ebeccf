-- The next token: above all before, and of the server's clock; then an error of
-- the service if there is none, and the time in ms. There is one counter per
-- server, or slot, so it need not expire.
local function mint(counter)
  local time = redis.call('TIME')
  local token = time[1] .. string.sub('00000' .. time[2], -6)
  local last = redis.pcall('SET', counter, token, 'GET')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if not last then
    return token, nil, now
  end
  if type(last) == 'table' then
    return nil, last
  end
  if #last < #token or #last == #token and last < token then
    return token, nil, now
  end
  -- The clock is behind the counter.
  local ahead = tonumber(last) + 1
  if ahead > 9007199254740991 then
    redis.call('SET', counter, last)
    return nil, redis.error_reply('ERR the token counter has reached 2^53-1')
  end
  token = string.format('%.0f', ahead)
  redis.call('SET', counter, token)
  return token, nil, now
end
