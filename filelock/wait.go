package filelock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
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
	place, err := b.line(req.Name).join(ctx, driver.Waiter{Owner: req.Owner, Host: b.host, PID: b.pid})
	if err != nil {
		return driver.Grant{}, err
	}
	defer place.leave()
	w := &wait{b: b, req: req, place: place}
	return w.run(ctx)
}

// A wait is one waiter's stay in line.
type wait struct {
	b     *backend
	req   driver.Request
	place *place
	held  *fencehold.HeldError // the last answer
}

// run tries when it is the waiter's turn, and sleeps. The ticket is visible
// before the first try, so a release after that try rings.
func (w *wait) run(ctx context.Context) (driver.Grant, error) {
	over := func() bool { return ctx.Err() != nil || w.b.life.Err() != nil }
	for {
		pause, grant, err := w.turn(ctx)
		if !errors.Is(err, fencehold.ErrHeld) {
			return grant, err
		}
		if err := w.sleep(ctx, pause, over); err != nil {
			return driver.Grant{}, err
		}
	}
}

// turn looks at the line, and tries if nobody is before this waiter. It
// returns how long to sleep then.
func (w *wait) turn(ctx context.Context) (time.Duration, driver.Grant, error) {
	ahead, front, err := w.place.ahead(ctx)
	if err != nil {
		return 0, driver.Grant{}, err
	}
	if front.file == w.place.file || w.req.Barging {
		grant, err := w.b.attempt(ctx, w.req)
		pause := minPoll + rand.N(maxPoll-minPoll)
		if errors.As(err, &w.held) {
			if left := w.held.Remaining; left > 0 {
				pause = min(pause, left+time.Millisecond)
			}
			w.held.Position = ahead + 1
		}
		return pause, grant, err
	}
	// A ring that was meant for the first in line is passed on; and one that
	// was stopped shows it by not answering.
	w.place.line.look(*front, true)
	w.held = w.b.holder(w.req.Name)
	w.held.Position = ahead + 1
	pause := min(minRest*time.Duration(8+ahead)/8, maxRest)
	return pause + rand.N(pause/4), driver.Grant{}, w.held
}

// sleep ends at a ring too.
func (w *wait) sleep(ctx context.Context, pause time.Duration, over func() bool) error {
	bell := w.place.bell
	defer context.AfterFunc(ctx, bell.interrupt)()
	defer context.AfterFunc(w.b.life, bell.interrupt)() //nolint:contextcheck // Close ends waits too
	_, err := bell.wait(pause, over)
	switch {
	case w.b.life.Err() != nil:
		return fencehold.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), w.held)
	}
	return err
}
