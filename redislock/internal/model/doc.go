// Package model searches the rules of the Redis line for states that must not
// be: all of them, in small configurations. It shares no code with the lock;
// the rules are those of docs/design/redis.md, and a rule that changes there
// changes here first.
//
// # What is modelled
//
// One name on one server: the key with its owner and expiry, the counter, the
// line, the signs of life, the subscriptions that the server sees. One client
// or two, each with one wait or lease. Messages in flight, which arrive in any
// order, as late as they like or never; requests that are executed although
// nobody awaits them any more; subscriptions that end or stay half-open; waits
// that are given up; clients that die. And around them others that take, renew,
// release and expire, a foreigner with SET NX PX and DEL, other names with the
// same counter, FLUSHALL, a clock that is set back, a second server that takes
// over with an older state.
//
// Time passes in ticks, for everybody alike, at any moment. A TTL is one to
// three of them (with one, a base never ages), and there is no last one: states hold what is left of each
// expiry, not when it is, and the order of the tokens, not their size. That is
// why a search can come to an end.
//
// # What is checked
//
// In each state: [Exclusion], [Tokens] and [WakeUp]. A timer that is due counts
// as something that will happen; how late it happens is not bounded. A waiter
// is given one ping to find out what its pushes did not tell it, and may sleep
// while a live one before it in line is awake: should that one die then, it
// wakes by its own timer, which the search does not bound.
//
// # What is not
//
// Drift of clocks, and clocks that jump while a TTL runs. Three waiters. Two
// servers that grant to others at a time. The order of pushes on one
// connection: any is tried. A subscription that is asked for but not confirmed.
// Rank offsets, polling without the right to subscribe, ranges, yields, keys
// kept after a release, revocation, min_replicas, slots. A script that dies
// half-way. Exclusion across FLUSHALL without quarantine, and between the
// servers of a failover, which nobody promises.
//
// # How to read it
//
// A state is in model.go; what a server does with a request in script.go; what
// a client does with an answer or a push in react.go; what can happen next in
// step.go and fault.go; what must hold in check.go. Variant.go lists the rules
// that can be left out, and the tests say what breaks then. Canon.go and
// search.go know nothing of locks.
package model
