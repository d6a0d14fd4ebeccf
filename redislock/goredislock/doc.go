// Package goredislock keeps locks by a go-redis client that the application
// has already, as package redislock does by a rueidis client. The keys, the
// scripts and the promises are those of redislock, and clients of both share
// locks and lines:
//
//	backend, err := goredislock.New(rdb, nil)
//	locks, err := fencehold.New(backend)
//
// [NewConn] makes of several clients what package redlock takes for independent servers.
//
// # What the client should look like
//
// Requests are not repeated by go-redis, whatever its MaxRetries say: package
// fencehold repeats what may be repeated. A call returns when its context ends,
// with or without ContextTimeoutEnabled. What was already sent then keeps a
// connection of the pool busy until ReadTimeout is over, or with
// ContextTimeoutEnabled until the deadline of the context, and later calls for
// the same lock wait for it. A client that has neither can be stuck with it for
// as long as the network is silent.
//
// ReadTimeout is 5 seconds by default. One well below a third of the TTL leaves
// a renewal the time for a second attempt.
//
// Every subscription has a connection of its own: one for each client of
// fencehold that waits or holds, in a Cluster one for each slot that is waited
// in.
package goredislock
