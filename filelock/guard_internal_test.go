//go:build unix

package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// stuck takes the guard of a lock as a process does that is stopped in the
// middle of a change.
func stuck(t *testing.T, b *backend, name string) *lockFile {
	t.Helper()
	f, err := b.dir.openLock(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.guard(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

func TestStoppedInsideTheGuard(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	req := driver.Request{Name: "job", Holder: "H", TTL: time.Minute}
	grant, err := b.TryAcquire(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	f := stuck(t, b, "job")

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
	f.unguard()
	if err := b.Release(context.Background(), grant, 0); err != nil {
		t.Error(err)
	}
}

// A mark that is not true yet must not make a leftover record look true.
func TestMarkOfOneWhoIsJustAcquiring(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	b.lease = false
	grant, err := b.TryAcquire(context.Background(), driver.Request{Name: "job", Holder: "H", Owner: "old", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(context.Background(), grant, 0); err != nil {
		t.Fatal(err)
	}
	f, err := b.dir.openLock("job")
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := errors.Join(f.tryLock(), f.tryGuardAndMark()); err != nil {
		t.Fatal(err)
	}
	_, err = b.TryAcquire(context.Background(), driver.Request{Name: "job", Holder: "H2", TTL: time.Minute})
	var held *fencehold.HeldError
	if !errors.As(err, &held) || held.Owner != "" {
		t.Errorf("refused with %v, %+v", err, held)
	}
	f.unguard()
	if marked, err := f.marked(); err != nil || marked {
		t.Errorf("one's own mark is seen as another's: %v", err)
	}
	viewer, err := b.dir.openFile(f.path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer viewer.close()
	if marked, err := viewer.marked(); err != nil || !marked {
		t.Errorf("the mark is not seen: %v", err)
	}
}

func TestReplacedWhileItIsLocked(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	f, err := b.dir.openLock("job")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.path); err != nil {
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

func TestPrivateDirectories(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkPrivate(dir); err != nil {
		t.Error(err)
	}
	for _, mode := range []fs.FileMode{0o770, 0o702, 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		var pathErr *fs.PathError
		if err := checkPrivate(dir); !errors.As(err, &pathErr) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	// Whoever runs the test, one of these belongs to somebody else.
	other := "/"
	if os.Geteuid() == 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		other = dir
	}
	if err := checkPrivate(other); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("another user's directory: %v", err)
	}
}

func TestSweepOfUnfinishedFiles(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	if err := b.dir.mkdir(b.dir.state); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(b.dir.state, tempPrefix+"1"), filepath.Join(b.dir.state, tempPrefix+"2")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	b.dir.sweep()
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old unfinished file is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("a young unfinished file is gone: %v", err)
	}
}

// A waiter may be killed between making its pipe and showing its ticket.
func TestSweepOfUnfinishedTickets(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	l := b.line("job")
	p, err := l.join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(l.path, tempPrefix+"0006617f0a97981a,AAAAAAAA")
	bell, err := b.dir.hangBell(temp+"x", temp)
	if err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(temp, past, past); err != nil {
		t.Fatal(err)
	}
	p.line.wake()
	if _, err := os.Lstat(temp); err != nil {
		t.Errorf("the pipe of a living waiter is gone: %v", err)
	}
	bell.close()
	p.line.wake()
	if _, err := os.Lstat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pipe of a dead waiter is still there: %v", err)
	}
	p.leave()
	if _, err := os.Lstat(l.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the line is still there: %v", err)
	}
}
