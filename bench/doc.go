// Package bench has no code: its commands compare fencehold with other
// libraries (cmd/peers), contend for a lock (cmd/worker), and break what locks
// depend on, over and over (cmd/soak). They are a module of their own so that
// nobody who uses fencehold depends on those libraries.
package bench
