package filelock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/line"
)

const (
	// The first in line looks this often by itself: nobody rings when a
	// holder dies, a grant runs out, or flock(1) had the lock.
	minPoll, maxPoll = 25 * time.Millisecond, 50 * time.Millisecond
	// The others look whether those before them are still there; those far
	// back less often, so that a long line costs no more than a short one.
	minRest, maxRest = 250 * time.Millisecond, 5 * time.Second
)

// Acquire implements [driver.Queuer].
func (b *backend) Acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	grant, err := b.TryAcquire(ctx, req)
	if !errors.Is(err, fencehold.ErrHeld) {
		return grant, err
	}
	place, err := b.line(req.Name).Join(ctx, driver.Waiter{Owner: req.Owner, Host: b.host, PID: b.pid})
	if err != nil {
		return driver.Grant{}, err
	}
	defer place.Leave()
	w := &wait{b: b, req: req, place: place}
	return w.run(ctx)
}

// A wait is one waiter's stay in line.
type wait struct {
	b     *backend
	req   driver.Request
	place *line.Place
	held  *fencehold.HeldError // the last answer
}

// run tries when it is the waiter's turn, and sleeps.
func (w *wait) run(ctx context.Context) (driver.Grant, error) {
	for {
		// The ticket is visible before the first try: a release after that try
		// rings, and the ring stays in the bell until the sleep.
		pause, grant, err := w.turn(ctx)
		if !errors.Is(err, fencehold.ErrHeld) {
			return grant, err
		}
		if err := w.sleep(ctx, pause); err != nil {
			return driver.Grant{}, err
		}
	}
}

// turn looks at the line, and tries if nobody is before this waiter. It
// returns how long to sleep then.
func (w *wait) turn(ctx context.Context) (time.Duration, driver.Grant, error) {
	ahead, front, err := w.place.Ahead(ctx)
	if err != nil {
		return 0, driver.Grant{}, err
	}
	if front == nil || w.req.Barging {
		return w.try(ctx, ahead)
	}
	// A ring that was meant for the first in line is passed on; and one that
	// was stopped shows it by not answering.
	front.Ring()
	w.held = w.b.holder(w.req.Name)
	w.held.Position = ahead + 1
	pause := min(minRest*time.Duration(8+ahead)/8, maxRest)
	return pause + rand.N(pause/4), driver.Grant{}, w.held
}

// try makes an attempt. It returns how long to sleep after one that is refused.
func (w *wait) try(ctx context.Context, ahead int) (time.Duration, driver.Grant, error) {
	grant, err := w.b.attempt(ctx, w.req)
	pause := minPoll + rand.N(maxPoll-minPoll)
	if errors.As(err, &w.held) {
		// Nobody rings when a lease runs out, but its end is known.
		if left := w.held.Remaining; left > 0 {
			pause = min(pause, left+time.Millisecond)
		}
		w.held.Position = ahead + 1
	}
	return pause, grant, err
}

// sleep ends at a ring too.
func (w *wait) sleep(ctx context.Context, pause time.Duration) error {
	err := w.place.Sleep(ctx, w.b.life, pause)
	switch {
	// The backend's end first: a client that closes ends its contexts too.
	case w.b.life.Err() != nil:
		return fencehold.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), w.held)
	}
	return err
}
