//go:build unix

package guarded

import (
	"context"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/notice"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// grant is the outcome of opening the lock service and waiting for the lock.
type grant struct {
	client *fencehold.Client
	lease  *fencehold.Lease
	wait   time.Duration
	err    error
}

// acquire opens the lock service and waits for the lock.
func (r *run) acquire(ctx context.Context) {
	var g grant
	began := time.Now()
	hooks := fencehold.Hooks{Renewed: r.onRenewed, RedundancyLost: r.onBare}
	g.client, g.err = r.spec.Open(ctx, fencehold.WithHooks(hooks))
	// Signals are caught while the lock service is opened. Until that is done,
	// one ends this process, which has nothing yet to leave behind.
	<-r.caught
	if g.err == nil {
		g.lease, g.err = g.client.Mutex(r.spec.Lock, r.spec.Options...).Acquire(ctx)
	}
	g.wait = time.Since(began)
	// The channel has room for it: nobody may be left to read.
	r.granted <- g
}

// onRenewed wakes the run. If it has not yet seen the last renewal, it reads
// what both have brought when it does.
func (r *run) onRenewed(fencehold.Event) {
	select {
	case r.renewed <- struct{}{}:
	// The signal that is waiting to be read stands for this renewal as well.
	default:
	}
}

// onBare warns that one server more that fails can cost the lock.
func (r *run) onBare(e fencehold.Event) { WarnBare(r.spec.Notices, e) }

// WarnBare prints the event RedundancyLost.
func WarnBare(to *notice.Printer, e fencehold.Event) {
	if e.Err == nil {
		to.Warn("lock %q: no server to spare", e.Name)
		return
	}
	to.Warn("lock %q: %v", e.Name, e.Err)
}

// deadline returns the end of the lease on the clock of the keeper. That clock
// is read first: a pause afterwards makes the deadline earlier, not later. A
// pinned lease does not end by time: its deadline only says how long this
// process may be silent.
func (r *run) deadline() time.Duration {
	now := r.clock.Now()
	if r.lease.Pinned() {
		return now + r.lease.TTL()
	}
	// From here to the end a pause of this process costs time that the deadline
	// has already left out.
	left := time.Until(r.lease.Expires())
	// Expires does not see that the machine was suspended. Whether that was
	// before or after the renewal was sent is not known here: it counts.
	asleep := suspended()
	left -= asleep - r.asleep
	r.asleep = asleep
	return max(now+left, 1)
}

// suspended is how long the machine has been suspended since it started, to
// the millisecond.
func suspended() time.Duration {
	return (process.Boottime.Now() - process.Monotonic.Now()).Round(time.Millisecond)
}

// clockOf is what the deadline of a lease is told on: time that the machine is
// suspended counts unless the lock cannot be taken meanwhile.
// Only the keeper waits on it: whoever holds a pinned lock through a suspend need not
// end after it, while a server has gone on and may have given the lock away.
func clockOf(lease *fencehold.Lease) process.Clock {
	if lease.Pinned() {
		return process.Monotonic
	}
	return process.Boottime
}
