//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock"
)

// full are the abilities that the backend has.
type full interface {
	driver.Backend
	driver.Queuer
	driver.Checker
	driver.Resumer
	driver.DescriptorHolder
	driver.Inspector
	driver.Revoker
}

var (
	leaseMode = &filelock.Options{Lease: true}
	modes     = map[string]*filelock.Options{"process": nil, "lease": leaseMode}
)

// newBackend opens the locks of a directory, as another process would.
func newBackend(t testing.TB, dir string, opts *filelock.Options) full {
	t.Helper()
	backend, err := filelock.New(dir, opts)
	check(t, err)
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return backend.(full)
}

func request(name string) driver.Request {
	return driver.Request{Name: name, Holder: driver.NewHolder(), Owner: "test", TTL: limit}
}

func acquire(t testing.TB, b driver.Backend, name string) driver.Grant {
	t.Helper()
	grant, err := b.TryAcquire(t.Context(), request(name))
	check(t, err)
	return grant
}

func release(t testing.TB, b driver.Backend, grant driver.Grant) {
	t.Helper()
	check(t, b.Release(context.Background(), grant, 0))
}

// mustBeHeld fails unless an attempt is refused.
func mustBeHeld(t testing.TB, b driver.Backend, name string) *fencehold.HeldError {
	t.Helper()
	grant, err := b.TryAcquire(t.Context(), request(name))
	var held *fencehold.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("attempt on a held lock: grant %+v, error %v", grant, err)
	}
	return held
}

// mustBeLost fails unless err is a loss for this reason.
func mustBeLost(t testing.TB, err error, reason fencehold.Reason) *fencehold.LostError {
	t.Helper()
	var lost *fencehold.LostError
	if !errors.As(err, &lost) || lost.Reason != reason {
		t.Fatalf("error %v: want a loss: %s", err, reason)
	}
	return lost
}

// acquireWithin waits for a lock that must be had soon.
func acquireWithin(t testing.TB, b full, name string, d time.Duration) driver.Grant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	grant, err := b.Acquire(ctx, request(name))
	check(t, err)
	if took := time.Since(start); took > d+slack {
		t.Errorf("had the lock after %v, want at most %v", took, d)
	}
	return grant
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// awaitWaiters waits until n are in line.
func awaitWaiters(t testing.TB, b full, name string, n int) {
	t.Helper()
	eventually(t, "waiters in line", func() bool {
		holding, err := b.Inspect(t.Context(), name)
		check(t, err)
		return holding.Waiting == n
	})
}

// noLine fails if anything is left of a line.
func noLine(t testing.TB, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".fencehold", "*.line"))
	check(t, err)
	if len(left) > 0 {
		inside, _ := os.ReadDir(left[0])
		t.Errorf("left behind: %v with %v", left, inside)
	}
}

func lockFile(dir, name string) string { return filepath.Join(dir, name+".lock") }
