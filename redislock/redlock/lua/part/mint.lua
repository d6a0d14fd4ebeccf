-- The next number of this node: above all before, and the proposed one where that
-- is larger. One that is far ahead of the node's clock is cut. A counter that is a
-- hundred years ahead is damaged: the node refuses, before it takes the others along.
local function mint(counter, proposed)
  local time = redis.call('TIME')
  local number, most = tonumber(proposed), (time[1] + 60) * 1000000 + time[2]
  if number > most then
    number = most
  end
  local text = string.format('%.0f', number)
  local last = redis.call('SET', counter, text, 'GET')
  if last and tonumber(last) >= number then
    number = tonumber(last) + 1
    if number > most + 3155760000000000 then
      redis.call('SET', counter, last)
      error({ err = 'ERR the key ' .. counter .. ' is damaged: it is a hundred years ahead of the clock' })
    end
    text = string.format('%.0f', number)
    redis.call('SET', counter, text)
  end
  return text
end
