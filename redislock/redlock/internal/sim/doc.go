// Package sim runs the decisions of Redlock, those of package quorum, in a
// simulated world: nodes that forget, whose clocks run fast or are set; clients
// that pause; messages that are late, lost, or executed twice. It searches for
// two clients that believe at once that they hold the lock, and for tokens that
// are given twice or fall. The rules are those of docs/design/redlock.md.
//
// # What is simulated
//
// One lock on 3, 5, 7 or 9 nodes and two to five clients in mode try: P1, P2,
// undoing on all nodes until the TTL has passed, renewals at a third of the
// TTL with mends, release, and the joining of a node that has lost its memory.
// Time is virtual: a world is a heap of events, without goroutines, and depends
// on its seed alone. Each clock has a rate of its own, and shows another time.
//
// # What is checked
//
// In real time, which nobody in the world knows. An overlap is a moment at which
// two clients believe: each has a lease, and its own clock is before the end of
// it. A paused client counts as well, as long as its clock is before the end,
// since that is what it would find if it woke up and looked. It does not count
// any more once its clock is past the end, though it may act then without
// looking: that is what tokens are for. A token is a duplicate if it was granted
// before, and falls if it is not above all those that were granted before its
// attempt began.
//
// In each [Class] either must not happen, or must, so that the simulation is
// known to be able to find it.
//
// # What is not
//
// Waiting, lines and hand-overs. Founding and repair. Clients that die, which
// are those whose leases run out unreleased. Monotonic clocks that jump.
//
// # Running one again
//
// Each test prints its seed. FENCEHOLD_SIM_SEED=n in the environment and
// -run 'TestClasses/NAME' run a class again with the same events, if it makes
// the same number of attempts: with FENCEHOLD_CONFORMANCE=full it makes more.
package sim
