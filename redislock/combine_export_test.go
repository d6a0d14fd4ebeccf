package redislock

// ManyScript is the script of requests that go together.
var ManyScript = manyScript
