// Package peer gives the lock libraries that are compared one face.
package peer

import (
	"context"
	"time"
)

// Client is one client of a library, with connections of its own.
type Client interface {
	// Acquire waits for the lock, as long as ctx, which has a deadline,
	// and returns what gives it back.
	Acquire(ctx context.Context, name string) (release func() error, err error)
	// Abandon acquires the lock for ttl and forgets it, as a holder does that
	// crashes: it is neither renewed nor released.
	Abandon(ctx context.Context, name string, ttl time.Duration) error
	// Close closes the connections.
	Close()
}

// Attempter is a client that makes single attempts, too.
type Attempter interface {
	// Attempt makes one attempt to get the lock, which it then keeps, and reports
	// whether it did.
	Attempt(ctx context.Context, name string) (bool, error)
}

// Library is one of those that are compared.
type Library struct {
	// Name is how the table calls it.
	Name string
	// Prefix begins the keys of locks.
	Prefix string
	// Open connects a client to the servers at the given hosts and ports: to the
	// first, or for [SetLocks] to all.
	Open func(addrs ...string) (Client, error)
	// Requests are the commands that a client sends for locks, and that its
	// scripts do not call.
	Requests []string
	// Waiting tells how many wait for a lock, by what one server says. It is nil for those that poll:
	// nobody knows.
	Waiting func(ask func(command ...string) string, name string) int
}

// TTL is the time to live of the locks that are not abandoned.
const TTL = 30 * time.Second

// retryEvery is the pause between two attempts of libraries that poll.
const retryEvery = 50 * time.Millisecond

// Locks are the libraries whose locks are compared, fencehold first.
var Locks = []Library{Fencehold, Redsync, RedsyncRueidis, BSM}

// SetLocks are the libraries whose locks on a set of servers are compared, fencehold
// first. Their clients are an [Attempter] each.
var SetLocks = []Library{Redlock, RedsyncRueidis, Redsync}
