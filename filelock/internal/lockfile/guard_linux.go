package lockfile

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/fencehold/fencehold/filelock/internal/flock"
)

// Two bytes far beyond the content of every lock file carry locks of the open
// file, which flock(2) does not see: the guard, and the mark of the holder. A
// mark can be asked for without taking it, and unlike a process id in the
// record it goes when the holder goes. A new holder takes both at once and
// keeps the mark, so the mark of one who has the guard too is not yet true.
const (
	guardByte = 1 << 62
	markByte  = guardByte + 1
)

// guarding is empty: the descriptor is enough.
type guarding struct{} //nolint:unused // it is not empty on macOS

// tryGuard takes the guard, or returns flock.ErrBusy.
func (f *File) tryGuard() error { return f.lockBytes(unix.F_WRLCK, guardByte, 1) }

// tryGuardAndMark takes both with one call of the system.
func (f *File) tryGuardAndMark() error { return f.lockBytes(unix.F_WRLCK, guardByte, 2) }

// Unguard frees the guard for all duplicates of the descriptor.
func (f *File) Unguard() { _ = f.lockBytes(unix.F_UNLCK, guardByte, 1) }

// unmark frees the mark likewise.
func (f *File) unmark() { _ = f.lockBytes(unix.F_UNLCK, markByte, 1) }

// lockBytes locks or unlocks n bytes. Unlocking what is not locked is no error.
func (f *File) lockBytes(kind int16, from, n int64) error {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: from, Len: n}
	err := unix.FcntlFlock(uintptr(f.fd), unix.F_OFD_SETLK, &lock)
	// POSIX allows both answers for a lock that is busy.
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return flock.ErrBusy
	}
	return f.fault("lock", err)
}

// Marked reports whether a grant of process mode stands on the file, and its
// record is written.
func (f *File) Marked() (bool, error) {
	// Who has the guard too is still writing: a leftover record must not be
	// taken for theirs.
	from, err := f.markedFrom()
	return from == markByte, err
}

// claimed reports whether anybody of ours has the mark, or is about to.
func (f *File) claimed() (bool, error) {
	from, err := f.markedFrom()
	return from != 0, err
}

// markedFrom asks where the lock begins that covers the mark: at the guard if
// its owner has both; 0 if there is none.
func (f *File) markedFrom() (int64, error) {
	// The kernel tells the whole lock, not its overlap with what was asked for.
	// One's own locks do not count.
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: markByte, Len: 1}
	err := unix.FcntlFlock(uintptr(f.fd), unix.F_OFD_GETLK, &lock)
	if err != nil || lock.Type == unix.F_UNLCK {
		return 0, f.fault("probe", err)
	}
	return lock.Start, nil
}
