// Package driver is the contract between package fencehold and a lock
// service. Applications use package fencehold; only backends import driver.
//
// A backend knows the atomic steps of its service and nothing else: it starts
// no renewal, computes no expiry, keeps no queue of goroutines and retries
// nothing beyond what its service's client does by itself. Package locktest
// is the specification of what is promised here.
package driver

import (
	"context"
	"errors"
	"time"

	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/internal/clock"
)

// Backend is one lock service. Its methods are called from many goroutines.
//
// Outcomes are reported with the errors of package fencehold: a HeldError
// where somebody else has the lock, a LostError where the grant is not the
// holder's any more. The service's own errors are returned as they are;
// package fencehold takes every other error for an unknown outcome and adds
// the operation and the name. A method returns soon after its context ends.
type Backend interface {
	// TryAcquire makes one attempt and does not wait for another holder. It
	// is idempotent: an attempt of a holder that has the lock is answered
	// with that grant, its token, and the time that it still has.
	TryAcquire(ctx context.Context, req Request) (Grant, error)

	// Renew lets the grant live for ttl from now, and no shorter than it
	// would have lived anyway. It never brings a grant back.
	Renew(ctx context.Context, grant Grant, ttl time.Duration) (Grant, error)

	// Release ends the grant, and nothing but this grant, also where only
	// its Name and Holder are known because the answer to the attempt was
	// lost. With a positive keep the lock stays taken for that long, under a
	// holder id that nobody has. A second Release may find nothing: that is a LostError.
	Release(ctx context.Context, grant Grant, keep time.Duration) error

	// Info describes the service. It does no I/O.
	Info() Info

	// Close frees what the backend itself opened. Grants of the process
	// kind end with it; the others live on until their TTL is over.
	Close() error
}

// Queuer is a Backend whose service lets waiters stand in line. Requests with
// Barging stand before all those without.
type Queuer interface {
	// Acquire waits for its turn. When ctx ends first, it leaves the line
	// and returns an error that wraps ctx's; if it knows who holds the
	// lock, the error wraps a HeldError too. Package fencehold calls Release
	// for the holder afterwards, in case the grant was on its way.
	Acquire(ctx context.Context, req Request) (Grant, error)
}

// Notifier is a Backend that can tell when trying again is worthwhile.
type Notifier interface {
	// Wait returns nil once name may have become free, or ctx's error.
	Wait(ctx context.Context, name string) error
}

// BatchRenewer is a Backend that renews many grants for the price of one.
type BatchRenewer interface {
	// RenewBatch does what Renew does to each of the renewals, and puts
	// the outcome there.
	RenewBatch(ctx context.Context, renewals []*Renewal)
}

// Checker is a Backend that can tell without leaving the machine whether a
// grant still stands.
type Checker interface {
	// Check returns nil, or the LostError that says how the grant ended.
	// It takes a few microseconds: it is called once a second and each time
	// that the holder asks.
	Check(grant Grant) error
}

// Watcher is a Backend that hears from its service how grants end.
type Watcher interface {
	// Watch says whom to tell. Package fencehold calls it once, before it uses
	// the backend; what it hands over may be called from any goroutine.
	Watch(told Told)
}

// Told is what a [Watcher] calls.
type Told struct {
	// Lost is called for each grant of this backend that the service says has
	// ended, with a LostError. A call for a grant that nobody has any more is
	// harmless.
	Lost func(name, holder string, how error)
	// Redundancy is called by a [Redundant] backend after that of a grant has
	// become known, or has changed. A call for a grant that nobody has yet, or
	// any more, is harmless.
	Redundancy func(name, holder string, spare int)
	// Missed is called when words of the service may have been missed: the
	// grants that renew themselves are renewed at once, which shows how they
	// stand.
	Missed func()
}

// Resumer is a Backend that can take up a grant that another process made.
type Resumer interface {
	// Resume returns the standing grant of holder, or a LostError.
	Resume(ctx context.Context, name, holder string) (Grant, error)
}

// DescriptorHolder is a Backend whose grants of the process kind stand as long as
// a file is open.
type DescriptorHolder interface {
	// Descriptor returns a duplicate of the descriptor that keeps the
	// grant, close-on-exec. The lock is free once every duplicate is closed
	// or the grant is released. The caller closes it.
	Descriptor(grant Grant) (uintptr, error)
}

// Request asks for one grant.
type Request struct {
	// Name is the lock's name: 1 to 512 bytes of valid UTF-8 without control
	// characters. The backend encodes what its service cannot take.
	Name string
	// Holder is the random id of this attempt. A Queuer that has to queue
	// again makes a new one with [NewHolder].
	Holder string
	// Owner names the holder to people.
	Owner string
	// Labels are shown with the owner.
	Labels map[string]string
	// TTL is how long the grant outlives its last renewal.
	TTL time.Duration
	// Barging lets the attempt go before those that wait in line.
	Barging bool
	// Detached asks for a grant that outlives this process.
	Detached bool
}

// Grant is what the service handed out.
type Grant struct {
	// Name is the lock's name.
	Name string
	// Holder tells this grant from every other, forever.
	Holder string
	// Token grows with every grant of Name; 0 if the service has none.
	Token fence.Token
	// Sent was read before the request was sent that TTL counts from: the
	// service cannot have begun to count earlier.
	Sent Instant
	// TTL is the time that the service granted, in its own unit, never
	// longer than it will keep it.
	TTL time.Duration
	// Pinned says that the grant does not run out: it stands until it is
	// released or revoked, or the process ends.
	Pinned bool
}

// Renewal is one grant of a batch.
type Renewal struct {
	// Grant and TTL are what Renew is called with.
	Grant Grant
	TTL   time.Duration
	// Renewed and Err are what it returned.
	Renewed Grant
	Err     error
}

// An Instant is a moment on the clocks of this process.
type Instant = clock.Instant

// Now returns the moment at which a request is about to be sent.
func Now() Instant { return clock.Now() }

// MonotonicNow is [Now] for services that stand still when this machine is
// suspended, because they live in it.
func MonotonicNow() Instant { return clock.Monotonic() }

// ErrRefused is in the errors after which it is certain that the service has
// not done what it was asked: there is nothing to undo.
var ErrRefused = errors.New("refused by the lock service")
