-- inspect: shows a lock and those who wait for it at this node.
-- KEYS: 1 lock, 2 line
-- ARGV: 1 how many waiters to list, 0 for none
-- Answers: KIND LEFT WAITING LISTED SHA1, then one line TICKET ENTRY for each
--          waiter listed, then the value; KIND is - for a free lock
--include value

local value, kind = current(KEYS[1])
if value then
  kind = 's'
end
local listed = {}
if tonumber(ARGV[1]) > 0 then
  local found = redis.call('ZRANGE', KEYS[2], 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    listed[#listed + 1] = string.format('%.0f', tonumber(found[i + 1])) .. ' ' .. found[i] .. '\n'
  end
end
return (kind or '-') .. ' ' .. redis.call('PTTL', KEYS[1]) .. ' ' .. redis.call('ZCARD', KEYS[2])
  .. ' ' .. #listed .. ' ' .. redis.sha1hex(value or '') .. '\n' .. table.concat(listed) .. shown(value)
