//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// patience is how long an attempt waits for one who is changing the record.
const patience = 100 * time.Millisecond

// openDir opens the directory of a backend, to do what the backend does.
func openDir(t *testing.T, path string) *lockdir.Dir {
	t.Helper()
	dir, err := lockdir.Open(path)
	check(t, err)
	return dir
}

// stuck takes the guard of a lock as a process does that is stopped in the
// middle of a change.
func stuck(t *testing.T, dir, name string) *lockfile.File {
	t.Helper()
	f, err := lockfile.OpenOrMake(openDir(t, dir), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Guard(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestStoppedInsideTheGuard(t *testing.T) {
	dir := t.TempDir()
	b := newBackend(t, dir, leaseMode)
	req := driver.Request{Name: "job", Holder: "H", TTL: time.Minute}
	grant, err := b.TryAcquire(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	f := stuck(t, dir, "job")

	req.Holder = "another"
	start := time.Now()
	if _, err := b.TryAcquire(context.Background(), req); !errors.Is(err, fencehold.ErrHeld) {
		t.Errorf("attempt: %v", err)
	}
	if took := time.Since(start); took < patience || took > patience+time.Second {
		t.Errorf("an attempt was patient for %v", took)
	}
	for what, call := range map[string]func(context.Context) error{
		"renew":   func(ctx context.Context) error { _, err := b.Renew(ctx, grant, time.Minute); return err },
		"release": func(ctx context.Context) error { return b.Release(ctx, grant, 0) },
		"revoke": func(ctx context.Context) error {
			return b.Revoke(ctx, driver.Revocation{Name: "job", Holder: "H"})
		},
		"attempt": func(ctx context.Context) error { _, err := b.TryAcquire(ctx, req); return err },
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
	// Other names are not concerned, and looking needs no guard.
	other := driver.Request{Name: "other", Holder: "H2", TTL: time.Minute}
	if _, err := b.TryAcquire(context.Background(), other); err != nil {
		t.Error(err)
	}
	if h, err := b.Inspect(context.Background(), "job"); err != nil || h.Holder != "H" {
		t.Errorf("shown as %+v, %v", h, err)
	}
	f.Unguard()
	if err := b.Release(context.Background(), grant, 0); err != nil {
		t.Error(err)
	}
}

// A mark that is not true yet must not make a leftover record look true.
func TestMarkOfOneWhoIsJustAcquiring(t *testing.T) {
	dir := t.TempDir()
	b, locks := newBackend(t, dir, nil), openDir(t, dir)
	req := driver.Request{Name: "job", Holder: "H", Owner: "old", TTL: time.Minute}
	grant, err := b.TryAcquire(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(context.Background(), grant, 0); err != nil {
		t.Fatal(err)
	}
	f, err := lockfile.OpenOrMake(locks, "job")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Take(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, err = b.TryAcquire(context.Background(), driver.Request{Name: "job", Holder: "H2", TTL: time.Minute})
	var held *fencehold.HeldError
	if !errors.As(err, &held) || held.Owner != "" {
		t.Errorf("refused with %v, %+v", err, held)
	}
	f.Unguard()
	if marked, err := f.Marked(); err != nil || marked {
		t.Errorf("one's own mark is seen as another's: %v", err)
	}
	viewer, err := lockfile.Open(locks, f.Path(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer viewer.Close()
	if marked, err := viewer.Marked(); err != nil || !marked {
		t.Errorf("the mark is not seen: %v", err)
	}
}
