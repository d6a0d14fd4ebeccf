-- The value of the lock, or false; and the type of a key that is no string.
local function current(lock)
  local value = redis.pcall('GET', lock)
  if type(value) ~= 'table' then
    return value, nil
  end
  if string.find(value.err, 'WRONGTYPE', 1, true) then
    return false, redis.call('TYPE', lock).ok
  end
  return redis.call('GET', lock), nil
end

local function is_mine(value, holder)
  local head = 'fh1:' .. holder .. ':'
  return value and string.sub(value, 1, #head) == head
end

local function number_of(value)
  return string.match(value, '^fh1:[^:]*:(%d+):') or '0'
end

local function meta_of(value)
  return string.match(value, '^fh1:[^:]*:%d+:%d+:(.*)$') or ''
end

-- Why a grant was revoked, - if that is not known.
local function word_for(kin, holder)
  local word = redis.pcall('GET', kin .. 'x:' .. holder)
  return type(word) == 'string' and word or '-'
end

-- What an answer shows of a value: a stranger's may be of any size.
local function shown(value)
  return string.sub(value or '', 1, 2048)
end
