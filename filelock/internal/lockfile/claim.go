package lockfile

import (
	"context"
	"errors"
	"time"

	"github.com/fencehold/fencehold/filelock/internal/flock"
)

// patience is how long an attempt waits for one who is just changing the
// record. That takes microseconds, so one who takes longer was stopped in the
// middle of it, and is about to have the lock.
const patience = 100 * time.Millisecond

// Take takes guard and mark, and then the lock. It returns [flock.ErrBusy] if
// the lock or the mark is a holder's, or if somebody has the guard for longer
// than a change takes. After a success the caller decides under the guard: it
// ends in [File.Unguard], and in [File.Free] if it does not keep the lock.
func (f *File) Take(ctx context.Context) error {
	if err := f.claim(ctx); err != nil {
		return err
	}
	// The mark comes before the lock and goes after it, so that a lock without
	// a mark is never one of ours.
	err := f.tryLock()
	if err != nil {
		f.unmark()
		f.Unguard()
	}
	return err
}

// claim takes guard and mark.
func (f *File) claim(ctx context.Context) error {
	err := f.tryGuardAndMark()
	if !errors.Is(err, flock.ErrBusy) {
		return err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	held := false
	err = flock.Poll(within, func() error {
		// Asked each time: the one who has the guard may be the next holder.
		var err error
		if held, err = f.Marked(); held || err != nil {
			return err
		}
		return f.tryGuardAndMark()
	})
	if held || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return flock.ErrBusy
	}
	return err
}

// Free frees the lock and the mark for every duplicate of the descriptor. That
// is said, not left to [File.Close]: a child of this process has every
// descriptor until its exec is over.
func (f *File) Free() {
	// In this order: see Take.
	_ = f.unlock()
	f.unmark()
}

// Guard takes the guard: whoever writes the record has it, for some
// microseconds. One who was stopped with it holds this up until ctx ends.
func (f *File) Guard(ctx context.Context) error { return flock.Poll(ctx, f.tryGuard) }
