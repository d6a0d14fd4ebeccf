-- Counts subscribers of this node. Without the right to ask it says one: a
-- message to nobody is found out by whoever misses it.
local function subscribers(channel, tag)
  local found = redis.pcall('PUBSUB', tag == '' and 'NUMSUB' or 'SHARDNUMSUB', channel)
  return tonumber(found[2]) or 1
end

local function tell(channel, tag, message)
  return redis.pcall(tag == '' and 'PUBLISH' or 'SPUBLISH', channel, message)
end
