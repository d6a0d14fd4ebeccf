package filelock

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// guarding is the open file of the guard, while this one has it. flock(2) and
// fcntl(2) see each other's locks on this system, so the lock file itself
// cannot carry another lock, and the flock stands for the mark.
type guarding struct{ guardFD int }

// tryGuard takes the flock of a file of the guard's own, which stays.
func (f *lockFile) tryGuard() error {
	file := strings.TrimSuffix(filepath.Base(f.path), lockSuffix) + guardSuffix
	path := filepath.Join(f.dir.state, file)
	fd, err := openGuard(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.dir.create(path, nil); err != nil {
			return err
		}
		fd, err = openGuard(path)
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := tryFlock(fd); err != nil {
		_ = unix.Close(fd)
		return f.fault("flock", err)
	}
	f.guardFD = fd
	return nil
}

// openGuard opens a guard that exists.
func openGuard(path string) (int, error) {
	return retry(func() (int, error) { return unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0) })
}

// unguard frees the guard by name: a child that is being made may have the
// descriptor too.
func (f *lockFile) unguard() {
	_ = unix.Flock(f.guardFD, unix.LOCK_UN)
	_ = unix.Close(f.guardFD)
}

// tryGuardAndMark takes the guard alone: the flock marks the holder.
func (f *lockFile) tryGuardAndMark() error { return f.tryGuard() }

// unmark has nothing to do.
func (f *lockFile) unmark() {}

// marked reports whether anybody has the flock. A leftover record is taken for
// that of a flock(1) after a crash: the two cannot be told apart here.
func (f *lockFile) marked() (bool, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(uintptr(f.fd), unix.F_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK, f.fault("probe", err)
}

// claimed is marked: the flock is all that there is.
func (f *lockFile) claimed() (bool, error) { return f.marked() }

// foreign has nothing to add: a flock without a record is seen by marked.
func (f *lockFile) foreign() (bool, int, error) { return false, 0, nil }
