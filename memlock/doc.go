// Package memlock keeps locks in the memory of one process: for examples, for
// programs of one process, and above all for tests of how a program copes when
// its lock fails it.
//
// A [Server] is a lock service of its own; each [Server.Backend] is a
// connection to it, so that a test can let two clients compete. The server's
// clock can be moved, its locks expire and vanish on demand, and a script can
// delay, lose or refuse any request. Time is that of package time, so tests
// may run in a testing/synctest bubble.
//
// The URL mem:// opens a server that the whole process shares, mem://NAME
// another one.
package memlock
