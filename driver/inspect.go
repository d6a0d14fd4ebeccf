package driver

import (
	"context"
	"iter"
	"time"

	"github.com/fencehold/fencehold/fence"
)

// Inspector is a Backend that can show the locks it keeps. Looking disturbs
// nobody: it takes no lock, and makes no attempt fail.
type Inspector interface {
	// List yields the locks held now whose names start with prefix, in no
	// particular order. An error ends the list.
	List(ctx context.Context, prefix string) iter.Seq2[Holding, error]

	// Inspect shows one lock, with those who wait for it. A lock that nobody
	// holds is a Holding without Held.
	Inspect(ctx context.Context, name string) (Holding, error)
}

// Revoker is a Backend that can take a lock from its holder.
type Revoker interface {
	// Revoke ends the grant of holder if that is what stands, and hands the
	// lock on. Otherwise it changes nothing and returns a LostError. The
	// victim is told who did it and why.
	Revoke(ctx context.Context, r Revocation) error
}

// Revocation takes one grant from its holder.
type Revocation struct {
	// Name and Holder say which grant.
	Name, Holder string
	// By and Why are told to the victim.
	By, Why string
}

// Holding is a lock as seen from outside.
type Holding struct {
	// Name is the lock's name.
	Name string
	// Held says whether somebody has the lock, or it is kept taken.
	Held bool
	// Kept says that the lock was released, and is kept taken by nobody for
	// the rest of a minimum hold.
	Kept bool
	// Holder is the random id of the grant, empty if the holder is not
	// fencehold. A kept lock has an id too, by which it can be revoked.
	Holder string
	// Token is the grant's fencing token, 0 if it has none.
	Token fence.Token
	// Owner, Labels, Host and PID are what the holder said of itself.
	Owner  string
	Labels map[string]string
	Host   string
	PID    int
	// Since is when the lock was granted, by the clock that granted it.
	Since time.Time
	// TTL is the time that is left; 0 if the grant does not run out or the
	// time is not known.
	TTL time.Duration
	// Foreign says that something other than fencehold holds the lock.
	Foreign bool
	// Key is where the service keeps the lock: a key, a path, a row.
	Key string
	// Waiting is the number of waiters, -1 if unknown.
	Waiting int
	// Waiters are those who wait, the next one first; only Inspect fills it.
	Waiters []Waiter
}

// Waiter is one who waits in line.
type Waiter struct {
	// Owner, Host and PID are what the waiter said of itself.
	Owner string
	Host  string
	PID   int
	// Since is when the waiter came.
	Since time.Time
}
