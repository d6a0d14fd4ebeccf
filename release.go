package fencehold

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// Release gives the lock back. Renewal and the lease's contexts end first,
// whatever happens then. It works under a context that is already over: ctx
// lends its values alone, and the call limits itself to 3 seconds.
//
// It returns nil if the lock was released, and when it is called again;
// [ErrLost] if the lease had ended before; [ErrUnavailable] if the outcome is
// unknown: then it goes on trying in the background, and the lock is free at
// the latest when its TTL is over. Released through a nil lease, which a failed
// acquire returns, nothing happens.
func (l *Lease) Release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.releasing.Lock()
	defer l.releasing.Unlock()
	// Close waits for a release that has begun, so that it finds the backend
	// open.
	if l.client.enter() == nil {
		defer l.client.working.Done()
	}
	lost, first := l.over()
	if !first {
		return nil
	}
	if lost != nil {
		return l.afterLoss(ctx, lost)
	}
	return l.wrap("release", l.giveBack(ctx))
}

// over ends the lease for a release, and waits for a renewal on its way, which
// could otherwise arrive after the release. It returns how the lease had ended
// before, and whether this is the first release.
func (l *Lease) over() (lost error, first bool) {
	l.mu.Lock()
	if l.told {
		l.mu.Unlock()
		return nil, false
	}
	// From here on no loss can be signalled: what the clock says counts as of
	// this moment.
	l.told = true
	l.look()
	lost = l.err
	if l.finish(ErrReleased) {
		l.tell(l.client.herald.hooks.Released, slog.LevelDebug, "lock released", nil)
	}
	req := l.renewal.request
	l.mu.Unlock()
	if req != nil {
		awaitRequest(req)
	}
	return lost, true
}

func awaitRequest(req *request) {
	select {
	case <-req.done:
	case <-time.After(releaseAttempt):
		// Its answer is thrown away, and it cannot renew what is released.
	}
}

// keep is how long the lock stays taken after a release now.
func (l *Lease) keep() time.Duration {
	if l.settings.minHold == unset {
		return 0
	}
	return max(0, l.settings.minHold-l.began.Elapsed())
}

// giveBack releases a lease that was held, and tries again while the outcome is
// unknown.
func (l *Lease) giveBack(ctx context.Context) error {
	grant := l.snapshot()
	deadline := time.Now().Add(releaseLimit)
	for pause, again := minUndoPause, false; ; pause, again = 2*pause, true {
		err := l.client.releaseOnce(ctx, grant, l.keep())
		switch {
		case err == nil:
			return nil
		case again && errors.Is(err, ErrLost):
			return nil // the attempt before was executed, only its answer was lost
		case settled(err):
			return err
		case time.Until(deadline) < pause+releaseAttempt+attemptsShare:
			l.client.undoLater(grant, l.keep)
			return unavailable(ofAttempt(err))
		}
		time.Sleep(pause)
	}
}

// afterLoss reports the loss. Where the service may still hold what the clock
// took for lost it is told, and says who has the lock now.
func (l *Lease) afterLoss(ctx context.Context, lost error) error {
	how := asLost(lost)
	if !byClock(how.Reason) && !l.Pinned() || how.Reason == ReasonClosed {
		return lost
	}
	err := l.client.releaseOnce(ctx, l.snapshot(), l.keep())
	found, ok := errors.AsType[*LostError](err)
	if ok && how.Reason == ReasonExpired && found.Reason != ReasonExpired {
		return l.wrap("release", found)
	}
	return lost
}

// abandon releases on the service what Close took away.
func (l *Lease) abandon(ctx context.Context) {
	l.mu.Lock()
	told, grant, keep := l.told, l.grant, l.keep()
	l.mu.Unlock()
	if !told {
		_ = l.client.releaseOnce(ctx, grant, keep)
	}
}

// undoLater goes on with a release in the background, if the client still
// lives.
func (c *Client) undoLater(grant driver.Grant, keep func() time.Duration) {
	if c.enter() != nil {
		return
	}
	defer c.working.Done()
	c.undo(grant, keep)
}
