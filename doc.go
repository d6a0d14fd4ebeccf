// Package fencehold provides distributed locks that stay safe when their
// holder is slow.
//
// A [Client] hands out the locks of one lock service. A [Mutex] is one lock by
// name; acquiring it gives a [Lease], which renews itself until it is
// released. The work runs under [Lease.Context], which ends before the lock
// service can give the lock to somebody else.
//
// No lock service can stop a holder that is paused at the wrong moment: it
// wakes up and writes. So each lease has a [Fence] with a token that grows with
// every grant; it goes along with each write, and the system that is written to
// refuses an old one. See package fence.
//
// # Backends
//
// Importing a backend's package makes its URLs known to [Open]:
//
//   - filelock (file://): all processes of one machine, no server needed;
//   - redislock (redis:// and more): a Redis or Valkey server, a replicated set
//     under Sentinel, or a Cluster; a module of its own. Package goredislock does
//     the same by a go-redis client that the application has already;
//   - redislock/redlock (redlock://): several independent Redis or Valkey servers, of
//     which a majority decides; a package of the module redislock;
//   - memlock (mem://): one process, with faults at will, for tests.
//
// The URL says where the locks are; what the service can promise is in
// [Features], and [WithFeatures] demands it.
//
// # Errors
//
// Each outcome has one error, told apart by [errors.Is]: [ErrHeld] somebody
// else has the lock, [ErrLost] it was ours and is not any more, [ErrReleased]
// we gave it back, [ErrUnavailable] the service did not say, [ErrInvalid] the
// call was wrong, [ErrClosed] the client is closed, [ErrStale] a guard refused
// an old fence, and the context's own error when that ended first.
package fencehold
