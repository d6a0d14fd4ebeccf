package fencehold

import (
	"context"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/lazycontext"
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

// releaseOnce makes one attempt to end a grant.
func (c *Client) releaseOnce(ctx context.Context, grant driver.Grant, keep time.Duration) error {
	lazy := lazycontext.New(ctx, forAttempt)
	defer lazy.Release()
	return c.backend.Release(lazy, grant, keep)
}

func forAttempt(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, releaseAttempt)
}

func nothing() time.Duration { return 0 }
