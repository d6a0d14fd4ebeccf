// Package redislock keeps locks in Redis or Valkey: one server, a replicated
// set under Sentinel, or a Cluster. Importing it registers the URL schemes
// redis, rediss, valkey, valkeys, redis+unix, redis+sentinel, rediss+sentinel,
// redis+cluster, rediss+cluster and their valkey forms:
//
//	client, err := fencehold.Open(ctx, "redis://localhost:6379")
//
// A lock is a plain string at "lock:NAME" that other libraries exclude and
// respect (redis-py, redsync, redislock, node redlock and others; see the
// option prefix). Waiters stand in a line on the server and are pushed their
// grant; every grant has a fencing token that only grows.
//
// # What is promised
//
// One server excludes by time as long as it keeps its memory and its clock
// runs at the right rate. What a failover of Sentinel or Cluster, a restart
// without persistence or FLUSHALL loses, another client can be granted while
// the holder still believes in its lease; its next renewal tells it. Only the
// fencing token, checked where the write lands, covers that, and a pause of
// the holder. MinReplicas makes the loss of a grant in a failover less likely,
// and never impossible.
//
// # Rights
//
// A user with a minimal set of rights:
//
//	ACL SETUSER locks on >PASSWORD ~lock:* &lock:* +@scripting +ping +hello
//	    +client|tracking +client|setname +role +wait +scan
//	    +get +set +del +exists +pttl +pexpire +time +type
//	    +zadd +zrem +zrange +zrank +zscore +zcard
//	    +publish +spublish +subscribe +ssubscribe +unsubscribe +sunsubscribe
//	    +pubsub +cluster|slots +cluster|shards
//
// From Redis 7.2 on, +client|setinfo spares a refused command at each connection.
// Without the right to subscribe or to publish, waiting is polling.
package redislock
