//go:build unix

package lockfile_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/fencehold/fencehold/filelock/internal/boot"
	"github.com/fencehold/fencehold/filelock/internal/flock"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// again opens the file of f a second time, as another process would.
func again(t *testing.T, f *lockfile.File) *lockfile.File {
	t.Helper()
	dir, err := lockdir.Open(t.TempDir())
	check(t, err)
	other, err := lockfile.Open(dir, f.Path(), true)
	check(t, err)
	t.Cleanup(other.Close)
	return other
}

func TestTakeExcludes(t *testing.T) {
	f := newFile(t)
	other := again(t, f)
	check(t, f.Take(context.Background()))
	f.Unguard()
	for range 2 {
		if err := other.Take(context.Background()); !errors.Is(err, flock.ErrBusy) {
			t.Errorf("a lock that is held: %v", err)
		}
	}
	if marked, err := other.Marked(); err != nil || !marked {
		t.Errorf("the holder is not seen: %v", err)
	}
	f.Free()
	if marked, err := other.Marked(); err != nil || marked {
		t.Errorf("the holder is seen after its end: %v", err)
	}
	check(t, other.Take(context.Background()))
}

// An attempt that is refused leaves nothing locked: neither is the holder kept
// from its record, nor the next one from the lock.
func TestRefusedTakeLeavesNothing(t *testing.T) {
	f := newFile(t)
	other, foreign := again(t, f), again(t, f)
	raw, err := os.Open(f.Path())
	check(t, err)
	defer raw.Close()
	check(t, flock.Try(int(raw.Fd())))
	if err := other.Take(context.Background()); !errors.Is(err, flock.ErrBusy) {
		t.Errorf("a lock that flock(1) has: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	check(t, f.Guard(ctx))
	f.Unguard()
	if marked, err := foreign.Marked(); err != nil || marked {
		t.Errorf("a mark is left: %v", err)
	}
	check(t, flock.Free(int(raw.Fd())))
	check(t, foreign.Take(context.Background()))
}

func TestTakeEndsWithItsContext(t *testing.T) {
	f := newFile(t)
	other := again(t, f)
	check(t, f.Guard(context.Background()))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := other.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled attempt while the guard is busy: %v", err)
	}
	if err := other.Guard(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled wait for the guard: %v", err)
	}
}

func TestLook(t *testing.T) {
	f := newFile(t)
	viewer := again(t, f)
	id, err := boot.Read()
	check(t, err)
	look := func() lockfile.Sight {
		t.Helper()
		sight, err := viewer.Look(context.Background(), id)
		check(t, err)
		return sight
	}
	if sight := look(); sight.Held || sight.Foreign {
		t.Errorf("a free lock is seen as %+v", sight)
	}
	check(t, f.Take(context.Background()))
	check(t, f.Write(lockfile.Record{Mode: lockfile.ProcessMode, Name: "job", Holder: "H"}))
	f.Unguard()
	if sight := look(); !sight.Held || sight.Foreign || sight.Record.Holder != "H" {
		t.Errorf("a holder of process mode is seen as %+v", sight)
	}
	f.Free()
	if sight := look(); sight.Held || sight.Foreign {
		t.Errorf("a lock that was freed is seen as %+v", sight)
	}
	written(t, f, lockfile.Record{Mode: lockfile.LeaseMode, Name: "job", Holder: "L", Until: id.In(time.Minute)})
	if sight := look(); !sight.Held || sight.Foreign || sight.Record.Holder != "L" {
		t.Errorf("a holder of lease mode is seen as %+v", sight)
	}
	written(t, f, lockfile.Record{Mode: lockfile.LeaseMode, Name: "job", Holder: "L", Until: boot.ID("1").In(time.Hour)})
	if sight := look(); sight.Held || sight.Foreign {
		t.Errorf("a lease of another boot is seen as %+v", sight)
	}
}

func TestFileThatWasTakenAway(t *testing.T) {
	f := newFile(t)
	if there, err := f.AtPath(); err != nil || !there {
		t.Errorf("the file is not at its path: %v", err)
	}
	check(t, errors.Join(f.Removable(), f.Remove()))
	if there, err := f.AtPath(); err != nil || there {
		t.Errorf("a file that was removed is at its path: %v", err)
	}
	elsewhere := f.Path() + ".old"
	check(t, os.WriteFile(elsewhere, nil, 0o600))
	check(t, os.Symlink(elsewhere, f.Path()))
	if there, err := f.AtPath(); err != nil || there {
		t.Errorf("a link is taken for the file: %v", err)
	}
}
