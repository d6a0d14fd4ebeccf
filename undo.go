package fencehold

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// The limits of giving something back: for the caller of Release, for one
// attempt, and for the pause between two attempts in the background.
const (
	releaseLimit   = 3 * time.Second
	releaseAttempt = time.Second
	minUndoPause   = 10 * time.Millisecond
	maxUndoPause   = 500 * time.Millisecond
)

// undo gives back, in the background, a grant that may or may not exist. It
// goes on until the service has answered, the TTL is over and with it the
// grant, or the client is closed and one last attempt was made. The caller has
// entered the client.
func (c *Client) undo(grant driver.Grant, keep func() time.Duration) {
	c.working.Go(func() {
		pause := minUndoPause
		for {
			err := c.releaseOnce(context.Background(), grant, keep())
			// "Not mine" ends it too: the grant never was, or is over. A
			// request that is still under way may be executed later; its
			// grant then ends with its TTL.
			if err == nil || settled(err) || !grant.Pinned && grant.Sent.Elapsed() > grant.TTL {
				return
			}
			select {
			case <-time.After(pause):
			case <-c.life.Done():
				return
			}
			pause = min(2*pause, maxUndoPause)
		}
	})
}

// releaseOnce makes one attempt to end a grant. The end of ctx is not that of
// the attempt.
func (c *Client) releaseOnce(ctx context.Context, grant driver.Grant, keep time.Duration) error {
	return c.backend.Release(bounded{Context: c.attempts.context(), values: ctx}, grant, keep)
}

// attempts bound how long one attempt to release takes. Those that begin at
// about the same time share a context: a timer of its own for each would be a
// good part of what a release costs.
type attempts struct {
	latest atomic.Pointer[attempt]
}

type attempt struct {
	ctx    context.Context
	cancel context.CancelFunc // it ends by itself
	until  time.Time          // no more attempts share it after that
}

// attemptsShare is for how long a context is shared.
const attemptsShare = 100 * time.Millisecond

func (a *attempts) context() context.Context {
	now := time.Now()
	if latest := a.latest.Load(); latest != nil && now.Before(latest.until) {
		return latest.ctx
	}
	next := &attempt{until: now.Add(attemptsShare)}
	next.ctx, next.cancel = context.WithTimeout(context.Background(), releaseAttempt+attemptsShare)
	a.latest.Store(next)
	return next.ctx
}

// bounded is a context with the values of another.
type bounded struct {
	context.Context
	values context.Context
}

// Value asks the context first, so that those derived of it need no goroutine.
func (b bounded) Value(key any) any {
	if v := b.Context.Value(key); v != nil {
		return v
	}
	return b.values.Value(key)
}

func nothing() time.Duration { return 0 }
