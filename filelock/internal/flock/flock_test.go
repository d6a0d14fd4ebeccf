package flock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencehold/fencehold/filelock/internal/flock"
)

func TestPollAsksUntilItIsNotBusy(t *testing.T) {
	for _, want := range []error{nil, errors.New("the disk is broken")} {
		asked := 0
		err := flock.Poll(context.Background(), func() error {
			if asked++; asked < 10 {
				return flock.ErrBusy
			}
			return want
		})
		if !errors.Is(err, want) || asked != 10 {
			t.Errorf("asked %d times, %v: want 10 times, %v", asked, err, want)
		}
	}
}

func TestPollEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	asked := 0
	err := flock.Poll(ctx, func() error {
		asked++
		return flock.ErrBusy
	})
	if !errors.Is(err, context.DeadlineExceeded) || asked < 2 {
		t.Errorf("asked %d times, then %v", asked, err)
	}
	// One who comes with a dead context has one try all the same.
	if err := flock.Poll(ctx, func() error { return nil }); err != nil {
		t.Errorf("a try that succeeds: %v", err)
	}
}

func TestSleep(t *testing.T) {
	start := time.Now()
	if err := flock.Sleep(context.Background(), 10*time.Millisecond); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < 10*time.Millisecond {
		t.Errorf("slept for %v", took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := flock.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("sleep under a dead context: %v", err)
	}
}
