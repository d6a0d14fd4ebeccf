package lazycontext_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold/internal/lazycontext"
)

func TestNothingIsMadeUntilAskedFor(t *testing.T) {
	made := 0
	c := lazycontext.New(t.Context(), func(p context.Context) (context.Context, context.CancelFunc) {
		made++
		return context.WithCancel(p)
	})
	if c.Err() != nil || c.Value("x") != nil || made != 0 {
		t.Fatalf("made %d contexts, error %v", made, c.Err())
	}
	c.Release()
	select {
	case <-c.Done():
		t.Fatal("done although nothing ended it")
	default:
	}
	c.Done()
	if made != 1 {
		t.Fatalf("made %d contexts, want 1", made)
	}
	c.Release()
	<-c.Done()
	if !errors.Is(c.Err(), context.Canceled) {
		t.Errorf("error %v", c.Err())
	}
}

// Standard contexts below it end with it, and need no goroutine for that: one
// that is left would keep the bubble from ending.
func TestChildrenEndWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := lazycontext.New(context.Background(), func(p context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(p, time.Second)
		})
		defer c.Release()
		child, cancel := context.WithTimeout(c, time.Hour)
		defer cancel()
		start := time.Now()
		<-child.Done()
		if d := time.Since(start); d != time.Second || !errors.Is(child.Err(), context.DeadlineExceeded) {
			t.Errorf("ended after %v with %v", d, child.Err())
		}
		if deadline, ok := c.Deadline(); !ok || !deadline.Equal(start.Add(time.Second)) {
			t.Errorf("deadline %v", deadline)
		}
	})
}
