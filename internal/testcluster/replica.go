package testcluster

import "fmt"

// StartReplica starts a replica of a server, with that one's options and then
// opts, and returns when it has all data.
func StartReplica(tb TB, of *Redis, opts ...Option) *Redis {
	tb.Helper()
	r := newReplica(tb, of, opts...)
	if err := r.launch(); err != nil {
		r.fatalf("start: %v", err)
	}
	if err := await(startLimit, pollEvery, func() error { return r.follows(of) }); err != nil {
		r.fatalf("replicate: %v", err)
	}
	return r
}

// newReplica prepares a replica.
func newReplica(tb TB, of *Redis, opts ...Option) *Redis {
	tb.Helper()
	set := of.set.with(opts...).with(Config("replicaof", fmt.Sprintf("127.0.0.1 %d", of.Port())))
	return newRedis(tb, set)
}
