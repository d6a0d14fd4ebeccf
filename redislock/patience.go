package redislock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// failoverGrace is how long a request that is to wait outlasts a set of servers
// without a primary.
const failoverGrace = 5 * time.Second

// awaits reports whether an error is that of a failover, for which there is
// time left. A single server has none.
func (b *backend) awaits(err error, waited time.Duration) bool {
	return b.conn.Mode() != Single && passes(err) && waited < failoverGrace
}

// patiently is TryAcquire that outlasts a failover.
func (b *backend) patiently(ctx context.Context, req driver.Request) (driver.Grant, error) {
	began := time.Now()
	for {
		grant, err := b.TryAcquire(ctx, req)
		if err == nil || errors.Is(err, fencehold.ErrHeld) || !b.awaits(err, time.Since(began)) {
			return grant, err
		}
		if pauseFor(ctx, backoff()) != nil {
			return driver.Grant{}, ended(ctx, err)
		}
	}
}

// The pace of polling where the server does not let us listen.
const (
	minPoll = 35 * time.Millisecond
	maxPoll = 60 * time.Millisecond
)

// poll waits by trying.
func (b *backend) poll(ctx context.Context, req driver.Request, last error) (driver.Grant, error) {
	for {
		if pauseFor(ctx, minPoll+rand.N(maxPoll-minPoll)) != nil {
			return driver.Grant{}, ended(ctx, last)
		}
		grant, err := b.TryAcquire(ctx, req)
		if !errors.Is(err, fencehold.ErrHeld) {
			return grant, err
		}
		last = err
	}
}

// pauseFor returns ctx's error if that ends first.
func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
