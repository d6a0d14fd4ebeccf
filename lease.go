package fencehold

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/clock"
)

// A Lease is one grant of a lock, held until it is released or lost. It renews
// itself unless [WithoutRenewal] was given. All of its methods may be called
// from any goroutine.
//
// A lease is safe as far as clocks can make it so. What it protects is safe
// without clocks only where the [Fence] is checked with each write.
type Lease struct {
	client   *Client
	settings *config
	began    driver.Instant // before the request that was granted was sent
	granted  time.Time
	waited   time.Duration

	releasing sync.Mutex // held by Release

	mu       sync.Mutex
	grant    driver.Grant
	term     term
	err      error         // how the lease ended, see how; final
	done     chan struct{} // made when somebody asks for it
	told     bool          // Release was called
	warning  chan struct{}
	warned   bool
	progress time.Time
	spare    redundancy
	contexts map[*leaseContext]struct{}
	renewal  renewal

	// Guarded by the schedule.
	next  time.Time
	index int
}

func newLease(c *Client, settings *config, grant driver.Grant, asked time.Time) *Lease {
	now := time.Now()
	l := &Lease{
		client: c, settings: settings, began: grant.Sent, granted: now, waited: now.Sub(asked),
		grant: grant, term: termOf(grant), progress: now,
	}
	l.renewal.plan(l.term, settings.ttl)
	return l
}

// Name is the name of the lock.
func (l *Lease) Name() string { return l.grant.Name }

// Token is the fencing token: larger than those of all earlier leases of the
// lock, 0 if the lock service has none.
func (l *Lease) Token() Token { return l.grant.Token }

// Fence goes with each write that the lock protects, so that the system that
// is written to can refuse an older holder.
func (l *Lease) Fence() Fence {
	return Fence{Name: l.grant.Name, Token: l.grant.Token, Holder: l.grant.Holder}
}

// TTL is the time that the service granted, in the service's own unit, at the
// last renewal.
func (l *Lease) TTL() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.ttl
}

// Pinned reports whether the lease does not run out by time: the service lets
// go only when the lease is released or revoked, or this process ends.
func (l *Lease) Pinned() bool { return l.grant.Pinned }

// Expires is when the lease ends unless it is renewed: by the clock of this
// process, counted from before the request was sent, with time kept back for
// clocks that differ and for the signal, and so earlier than the service will
// give the lock away. A pinned lease does not end then; its Expires still
// moves on while this process is well.
func (l *Lease) Expires() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end()
}

// Valid reports whether the lease is held now. It reads the clocks each time,
// and so tells the truth also after this process was stopped, and asks
// backends that can answer without leaving the machine. It is false while a
// jump of the wall clock is being looked into.
func (l *Lease) Valid() bool {
	if checker, ok := l.client.backend.(driver.Checker); ok {
		l.check(checker)
	}
	clock.Refresh()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	return l.err == nil && !l.term.doubtful()
}

// Done is closed when the lease is over, whatever ended it; see [Lease.Err].
func (l *Lease) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

// Err is nil while the lease is held, then [ErrReleased], or [ErrLost] with
// the reason.
func (l *Lease) Err() error {
	clock.Refresh()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	return l.how()
}

// Expiring is closed as an early warning, while the lease is still held: a
// renewal failed, or less than a third of the lease is left. Once a renewal
// comes through, Expiring returns a new channel.
func (l *Lease) Expiring() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.warning == nil {
		l.warning = make(chan struct{})
		if l.warned {
			close(l.warning)
		}
	}
	return l.warning
}

// Progress reports that the work goes on; see [WithProgress].
func (l *Lease) Progress() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = time.Now()
	if l.err == nil && l.wantsRenewal() && !l.progress.Before(l.renewal.due) {
		l.client.schedule.plan(l, l.progress)
	}
}

// File returns a duplicate of the file descriptor that keeps a pinned lease:
// the lock is free once the lease is released, or this process and whoever was
// given the duplicate have closed it. It is close-on-exec, and the caller
// closes it. Other leases have none: [errors.ErrUnsupported].
func (l *Lease) File() (*os.File, error) {
	keeper, ok := l.client.backend.(driver.DescriptorHolder)
	if !ok || !l.Pinned() {
		return nil, l.wrap("file", unsupported("descriptor of a lease"))
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	fd, err := keeper.Descriptor(l.snapshot())
	if err != nil {
		return nil, l.wrap("file", classify(context.Background(), err))
	}
	return os.NewFile(fd, l.Name()), nil
}

// snapshot returns the grant as of the last renewal.
func (l *Lease) snapshot() driver.Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant
}

// end is when the lease ends, the cap of WithMaxHold included.
func (l *Lease) end() time.Time {
	end := l.term.end()
	if l.settings.maxHold != unset {
		if limit := l.began.Time().Add(l.settings.maxHold - l.began.Slept()); limit.Before(end) {
			return limit
		}
	}
	return end
}

func (l *Lease) wrap(op string, err error) error { return l.client.wrap(op, l.Name(), err) }
