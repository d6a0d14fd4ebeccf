// Package model searches the rule by which Redlock gives out tokens for states
// that must not be: all of them, in small configurations. It shares no code
// with the lock; the rule is that of docs/design/redlock.md, and if it changes
// there it changes here first.
//
// # What is modelled
//
// One name on three or five nodes: the value with its holder and number, and
// the counter h. Two or three clients with one attempt each, a waiter's with
// two rounds under one holder. P1 with any proposal, P2, renewals, mends,
// hand-overs by a release, each executed as late as it likes, or never; in some
// configurations each P1 and P2 once or twice. Answers to an attempt that has
// ended or asked again count for nothing. Nodes may lose their memory, N/2 at a time.
//
// A value can end at any moment. There is no step for that: whatever would find
// the value ended may also happen while it is there.
//
// # What is checked
//
// At each grant: [Unique] and [Rising]. Exclusion is a matter of time, which
// package sim has.
//
// # What makes it small
//
// A client decides by any majority of the answers that it could have, so the
// receipt of an answer is no step. A grant is made as soon as it can be: that
// is when most must be below it. Nodes are alike, and so are clients; what
// nobody can ask about any more is cleared. None of this hides a bad state.
//
// # What is not
//
// Time, and with it validity. Undoing and release, which are the end of a
// value. Founding and repair. A client that is late with what it was told for a
// node that joined and forgot again; the join time is compared for that.
// Proposals without end: those that matter are above, at or below the counters.
//
// # How to read it
//
// A state is in state.go; what a node does in script.go; what a client decides
// in client.go; what can happen next in step.go and fault.go. Variant.go lists
// the rules that can be left out, and the tests say what breaks then.
// Fingerprint.go and search.go know nothing of locks.
package model
