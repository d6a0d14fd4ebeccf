package lockfile

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/fencehold/fencehold/filelock/internal/flock"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// guarding is the open file of the guard, while this one has it. flock(2) and
// fcntl(2) see each other's locks on this system, so the lock file itself
// cannot carry another lock, and the flock stands for the mark.
type guarding struct{ guardFD int }

// tryGuard takes the flock of a file of the guard's own, which stays.
func (f *File) tryGuard() error {
	path := f.dir.GuardPath(f.path)
	fd, err := lockdir.OpenDescriptor(path, unix.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.dir.Create(path, nil); err != nil {
			return err
		}
		fd, err = lockdir.OpenDescriptor(path, unix.O_RDWR)
	}
	if err != nil {
		return err
	}
	if err := flock.Try(fd); err != nil {
		_ = unix.Close(fd)
		return f.fault("flock", err)
	}
	f.guardFD = fd
	return nil
}

// Unguard frees the guard.
func (f *File) Unguard() {
	// By name: a child that is being made may have the descriptor too.
	_ = flock.Free(f.guardFD)
	_ = unix.Close(f.guardFD)
}

// tryGuardAndMark takes the guard alone: the flock marks the holder.
func (f *File) tryGuardAndMark() error { return f.tryGuard() }

// unmark has nothing to do.
func (f *File) unmark() {}

// Marked reports whether anybody has the flock. A leftover record is taken for
// that of a flock(1) after a crash: the two cannot be told apart here.
func (f *File) Marked() (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(uintptr(f.fd), unix.F_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK, f.fault("probe", err)
}

// claimed is marked: the flock is all that there is.
func (f *File) claimed() (bool, error) { return f.Marked() }

// foreign has nothing to add: a flock without a record is seen by marked.
func (f *File) foreign() (bool, int, error) { return false, 0, nil }
