package redislock

// Open is what [fencehold.Open] calls.
var Open = open
