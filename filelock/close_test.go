//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

func TestB88Close(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, other := newBackend(t, dir, nil), newBackend(t, dir, nil)
	grant := acquire(t, b, "held")
	acquire(t, other, "waited")
	waiting := make(chan error)
	go func() {
		_, err := b.Acquire(context.Background(), request("waited"))
		waiting <- err
	}()
	awaitWaiters(t, other, "waited", 1)
	next := make(chan time.Time)
	go func() {
		if _, err := other.Acquire(context.Background(), request("held")); err != nil {
			t.Error(err)
		}
		next <- time.Now()
	}()
	awaitWaiters(t, other, "held", 1)
	start := time.Now()
	check(t, b.Close())
	check(t, b.Close())
	if err := <-waiting; !errors.Is(err, fencehold.ErrClosed) {
		t.Errorf("the wait ended with %v", err)
	}
	if took := (<-next).Sub(start); took > 100*time.Millisecond+slack {
		t.Errorf("the lock of a closed backend was free after %v", took)
	}
	mustBeLost(t, b.Check(grant), fencehold.ReasonClosed)

	revocation := driver.Revocation{Name: "held", Holder: "H"}
	for what, call := range map[string]func() error{
		"attempt": func() error { _, err := b.TryAcquire(t.Context(), request("x")); return err },
		"acquire": func() error { _, err := b.Acquire(t.Context(), request("x")); return err },
		"renew":   func() error { _, err := b.Renew(t.Context(), grant, limit); return err },
		"release": func() error { return b.Release(t.Context(), grant, 0) },
		"resume":  func() error { _, err := b.Resume(t.Context(), "held", "H"); return err },
		"inspect": func() error { _, err := b.Inspect(t.Context(), "held"); return err },
		"revoke":  func() error { return b.Revoke(t.Context(), revocation) },
		"list": func() (err error) {
			for _, err = range b.List(t.Context(), "") {
			}
			return err
		},
	} {
		if err := call(); !errors.Is(err, fencehold.ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
	noLine(t, dir)
}

// descriptors counts the open files of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	return len(entries)
}

func TestB88NothingGrows(t *testing.T) {
	b := newBackend(t, t.TempDir(), nil)
	release(t, b, acquire(t, b, "first"))
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	for i := range rounds(10_000) {
		release(t, b, acquire(t, b, fmt.Sprint("job", i)))
	}
	grant := acquire(t, b, "job")
	for range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := b.Acquire(ctx, request("job")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquire ended with %v", err)
		}
		cancel()
		mustBeHeld(t, b, "job")
	}
	release(t, b, grant)
	if now := descriptors(t); now > files {
		t.Errorf("%d open files, %d before", now, files)
	}
	if now := runtime.NumGoroutine(); now > goroutines+2 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
}
