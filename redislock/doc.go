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
// # URLs
//
// Hosts take the port 6379 unless they say another one, Sentinels 26379:
//
//	redis://HOST[:PORT][/DB]                 one server
//	redis+sentinel://HOST,HOST/MASTER[/DB]   the server that Sentinels know as MASTER
//	redis+cluster://HOST,HOST                a Redis Cluster, by some of its nodes
//	redis+unix:///PATH, unix:///PATH         one server, at a socket; the option db
//	redis-sentinel://HOST,HOST[/DB]?sentinelMasterId=MASTER
//	                                         another form of redis+sentinel://
//	rediss://, rediss+sentinel://, rediss+cluster://, rediss-sentinel://
//	                                         the same with TLS
//
// The forms with a plus, and the plain ones, may have "valkey" in the place of
// "redis". User and password stand before the hosts, as USER:PASSWORD@,
// :PASSWORD@ or USER:@, percent-encoded where a character means something in a
// URL. Options stand after a question mark, as NAME=VALUE with & between:
//
//	prefix                  begins all keys; "lock:"
//	min_replicas            how many replicas must have a grant before it counts; 0
//	replica_timeout         how long to wait for them; 1s
//	dial_timeout            how long a connection may take; 5s
//	client_name             what the server lists the connections as; "fencehold"
//	db                      number of the database; 0
//	password_file           file with the password and nothing else
//	cacert                  TLS: file of the authorities to trust; those of the system
//	cert, key               TLS: files of the certificate to log in with, and its key
//	servername              TLS: the name that the certificate must have; the host
//	insecure                TLS: true takes any certificate; false
//	sentinel_username, sentinel_password, sentinel_password_file
//	                        Sentinels: how to log in there; without
//	sentinelMasterId, master
//	                        redis-sentinel:// only: the name of the master
//
// An option that is not known, is given twice or does not belong to the scheme is
// an error ([fencehold.ErrInvalid]), and so is a database that the server does not
// have.
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
//	    +punsubscribe +discard +pubsub +cluster|slots +cluster|shards
//
// With +info, +config|get, +acl|whoami and +cluster|info a diagnosis
// ([fencehold.Client.Diagnose], "fencehold doctor") also sees what the server
// keeps on disk, what it does when memory is full, and who the user is. Locks need
// none of these.
//
// From Redis 7.2 on, +client|setinfo spares a refused command at each connection.
// Without the right to subscribe or to publish, waiting is polling.
package redislock
