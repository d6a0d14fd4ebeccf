// Package flock takes locks of open files as flock(1) does, but never waits in
// the kernel: a wait there could not be cancelled.
package flock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// ErrBusy is the answer of a lock that somebody else has.
var ErrBusy = errors.New("locked by another process")

const (
	// firstPause is about as long as a change of a record takes.
	firstPause = 20 * time.Microsecond
	// lastPause bounds what a wait for a stopped process costs.
	lastPause = 2 * time.Millisecond
)

// Poll calls try until its answer is another one than [ErrBusy], and returns
// that. It returns ctx's error if that ends first.
func Poll(ctx context.Context, try func() error) error {
	pause := firstPause
	for {
		err := try()
		if !errors.Is(err, ErrBusy) {
			return err
		}
		// Without chance, those who were refused together would come back
		// together.
		if err := Sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// Sleep returns after d, or with ctx's error if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
