//go:build unix

package filelock

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

func internalBackend(t *testing.T, dir string) *backend {
	t.Helper()
	b, err := New(dir, &Options{Lease: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b.(*backend)
}

func TestLeaseOfAnotherBootIsOver(t *testing.T) {
	dir := t.TempDir()
	before := internalBackend(t, dir)
	before.boot = "an earlier one"
	req := driver.Request{Name: "job", Holder: "H", TTL: time.Hour}
	if _, err := before.TryAcquire(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	b := internalBackend(t, dir)
	if h, err := b.Inspect(context.Background(), "job"); err != nil || h.Held {
		t.Errorf("shown as %+v, %v", h, err)
	}
	if _, err := b.Resume(context.Background(), "job", "H"); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("resumed: %v", err)
	}
	req.Holder = "next"
	if _, err := b.TryAcquire(context.Background(), req); err != nil {
		t.Error(err)
	}
}

func TestReplacedWhileItIsLocked(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	f, err := lockfile.OpenOrMake(b.dir, "job")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Path()); err != nil {
		t.Fatal(err)
	}
	req := driver.Request{Name: "job", Holder: "H", TTL: time.Minute}
	if _, err := b.attemptOn(context.Background(), f, req); !errors.Is(err, errReplaced) {
		t.Errorf("a grant on a file without a path: %v", err)
	}
	if _, err := b.TryAcquire(context.Background(), req); err != nil {
		t.Error(err)
	}
}
