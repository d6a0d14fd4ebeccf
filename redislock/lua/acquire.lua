-- acquire: takes the lock, or joins the line for it.
-- KEYS: 1 lock, 2 counter, 3 line
-- ARGV: 1 holder, 2 TTL in ms, 3 meta, 4 mode (try, barge, wait, check), 5 WHERE;
--       to wait or check also 6, lines of: client, GTTL in ms, channel, life in
--       ms, ticket (a number, 'last' or 'first')
-- Answers: G TOKEN RANGE TTL           granted
--          B KIND TTL VALUE            busy; KIND is s for a string, or a type
--          W COUNTER TTL RANK TICKET INCARNATION SUBSCRIBERS KIND VALUE
--          U                           not in line, and nothing is held
local holder, ttl, meta, mode = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

--include mint

-- Most often the lock is free and nobody waits for it.
if mode == 'barge' and redis.call('EXISTS', KEYS[1]) == 0
    or mode ~= 'check' and redis.call('EXISTS', KEYS[1], KEYS[3]) == 0 then
  local token, refused = mint(KEYS[2])
  if not token then
    return refused
  end
  redis.call('SET', KEYS[1], 'fh1:' .. holder .. ':' .. token .. ':1:' .. meta, 'PX', ttl)
  return 'G ' .. token .. ' 1 ' .. ttl
end

--include value
--include message
--include line
--include life

local kin, tag = place(ARGV[5])
local client, gttl, channel, life, ticket
if ARGV[6] then
  client, gttl, channel, life, ticket = string.match(ARGV[6], '^(.*)\n(.*)\n(.*)\n(.*)\n(.*)$')
end
local waits = mode == 'wait' or mode == 'check'
local entry = waits and holder .. ' ' .. client .. ' ' .. gttl .. ' ' .. meta

local value, kind = current(KEYS[1])
if is_mine(value, holder) then
  if waits then
    -- A hand-over that died half-way has left it there.
    redis.call('ZREM', KEYS[3], entry)
  end
  local token, range = string.match(value, ':(%d+):(%d+):')
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 then
    left = ttl -- somebody has taken its end away
  end
  -- Written although nothing changes: WAIT confirms what its connection wrote.
  redis.call('PEXPIRE', KEYS[1], left)
  return 'G ' .. token .. ' ' .. range .. ' ' .. left
end

local stands = mode == 'check' and redis.call('ZSCORE', KEYS[3], entry)
if mode == 'check' and not stands then
  return 'U'
end

if not value and not kind then
  local winner = hand_over(KEYS[1], KEYS[2], KEYS[3], kin, tag)
  if winner and winner.holder == holder then
    return 'G ' .. winner.token .. ' 1 ' .. winner.ttl
  end
  if not winner then
    local token, refused = mint(KEYS[2])
    if not token then
      return refused
    end
    redis.call('SET', KEYS[1], value_of(holder, token, meta), 'PX', ttl)
    if waits then
      redis.call('ZREM', KEYS[3], entry)
    end
    return 'G ' .. token .. ' 1 ' .. ttl
  end
  value = redis.call('GET', KEYS[1])
end

local left = redis.call('PTTL', KEYS[1])
local shown_left = string.format('%.0f', left)
if not waits then
  return 'B ' .. (kind or 's') .. ' ' .. shown_left .. ' ' .. shown(value)
end

-- The sign of life comes first: an entry without one is dropped.
local incarnation = refresh(kin .. 'p' .. tag .. ':' .. client, channel, life)
if stands then
  ticket = stands
else
  if ticket == 'last' or ticket == 'first' then
    local time = redis.call('TIME')
    local us = time[1] * 1000000 + time[2]
    if ticket == 'first' then
      us = us - 4503599627370496
    else
      local highest = redis.call('ZRANGE', KEYS[3], '-1', '-1', 'WITHSCORES')[2]
      us = math.max(us, tonumber(highest or '0') + 1)
    end
    ticket = string.format('%.0f', us)
  end
  if redis.call('ZADD', KEYS[3], 'NX', ticket, entry) == 0 then
    ticket = redis.call('ZSCORE', KEYS[3], entry)
  end
end
-- A stranger is looked after by the front alone, so that has to be alive.
if kind or string.sub(value, 1, 4) ~= 'fh1:' then
  drop_dead(KEYS[3], kin, tag)
end
-- The line lives as long as the holder may, and is never cut short.
local lasting = math.min(math.max(left, 0), 1e14) + life + 60000
if redis.call('PTTL', KEYS[3]) < lasting then
  redis.call('PEXPIRE', KEYS[3], lasting)
end
return 'W ' .. (redis.call('GET', KEYS[2]) or '-') .. ' ' .. shown_left .. ' ' .. redis.call('ZRANK', KEYS[3], entry)
  .. ' ' .. string.format('%.0f', tonumber(ticket)) .. ' ' .. incarnation .. ' ' .. subscribers(channel, tag)
  .. ' ' .. (kind or 's') .. ' ' .. shown(value)
