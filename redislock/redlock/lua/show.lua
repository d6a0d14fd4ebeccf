-- show: the values of some locks.
-- KEYS: the locks
-- Answers, for each lock: LEFT LENGTH, a line break, VALUE; LEFT in ms, -1 without
-- an end, -2 if there is no such string
local answer = {}
for i = 1, #KEYS do
  local value = redis.pcall('GET', KEYS[i])
  local left = -2
  if type(value) == 'string' then
    left = redis.call('PTTL', KEYS[i])
  else
    value = ''
  end
  answer[i] = string.format('%.0f', left) .. ' ' .. #value .. '\n' .. value
end
return table.concat(answer)
