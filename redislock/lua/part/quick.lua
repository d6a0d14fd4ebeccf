-- Most often the lock is the holder's, and nobody waits for it, or the first in
-- line can be reached: the same as below, without the cost of defining functions.
if #ARGV == 2 then
  local value = redis.pcall('GET', KEYS[1])
  local theirs = type(value) == 'string' and string.find(value, 'fh1:' .. holder .. ':', 1, true) == 1
  local found = theirs and redis.call('ZRANGE', KEYS[3], '0', '1')
  if theirs and not found[1] then
    redis.call('DEL', KEYS[1])
    return 'R'
  end
  local left = theirs and redis.call('PTTL', KEYS[1])
  if theirs and left >= 0 then
    local kin, tag = string.match(ARGV[2], '^(.*)\n(.*)$')
    local head = kin .. 'p' .. tag .. ':'
    local first, client, gttl, meta = string.match(found[1], '^(%S+) (%S+) (%d+) (%S*)$')
    local second, other = string.match(found[2] or '', '^(%S+) (%S+)')
    local life = client and redis.pcall('GET', head .. client)
    local inbox = type(life) == 'string' and string.match(life, '^%S+ (.+)$')
    -- What PUBLISH counts is not enough: a pattern that somebody listens to is
    -- no waiter.
    local heard = inbox and redis.pcall('PUBSUB', tag == '' and 'NUMSUB' or 'SHARDNUMSUB', inbox)
    if heard and (tonumber(heard[2]) or 1) > 0 and #gttl < 16 and tonumber(gttl) > 0 then
      local time = redis.call('TIME')
      local token = time[1] .. string.sub('00000' .. time[2], -6)
      local last = redis.pcall('SET', KEYS[2], token, 'GET')
      if type(last) == 'string' and #last == #token and last < token then
        local publish = tag == '' and 'PUBLISH' or 'SPUBLISH'
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local far = math.max(now + left, tonumber(string.match(value, '&z=(%d+)') or '0'))
        local beyond = far > now + gttl + 20
        if beyond then
          meta = meta .. '&z=' .. string.format('%.0f', far)
        end
        redis.call('SET', KEYS[1], 'fh1:' .. first .. ':' .. token .. ':1:' .. meta, 'PX', gttl)
        redis.call('ZREM', KEYS[3], found[1])
        -- What is told last leaves the server first.
        life = beyond and second and redis.pcall('GET', head .. other)
        local front = type(life) == 'string' and string.match(life, '^%S+ (.+)$')
        if front then
          redis.pcall(publish, front, 'f ' .. second .. ' ' .. gttl)
        end
        if type(redis.pcall(publish, inbox, 'g ' .. first .. ' ' .. token .. ' ' .. gttl)) == 'table' then
          -- Publishing is not allowed: the winner has to find out at its next ping.
          redis.call('DEL', head .. client)
        end
        return 'R'
      elseif type(last) == 'string' then
        redis.call('SET', KEYS[2], last)
      end
    end
  end
end
