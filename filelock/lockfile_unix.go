//go:build unix

package filelock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// A lockFile is an open lock file. Its descriptor is its own, so that
// goroutines exclude each other like processes.
type lockFile struct {
	guarding //nolint:unused // what the guard needs on this system

	dir  *directory
	path string
	fd   int
	id   fileID
	size int64
}

// A fileID tells a file from every other, whatever its name.
type fileID struct{ dev, ino uint64 }

// openFile opens a lock file that exists. O_NONBLOCK is for the named pipe that
// somebody put in its place.
func (d *directory) openFile(path string, write bool) (*lockFile, error) {
	flags := unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	if write {
		flags |= unix.O_RDWR
	}
	fd, err := retry(func() (int, error) { return unix.Open(path, flags, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := &lockFile{dir: d, path: path, fd: fd}
	if err := f.stat(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// stat remembers which file this is, and refuses what is not a plain one.
func (f *lockFile) stat() error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return f.fault("stat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return f.fault("use", errors.New("not a regular file"))
	}
	f.id = identify(&st)
	f.size = st.Size
	return nil
}

// identify takes the identity of a file from its description.
func identify(st *unix.Stat_t) fileID {
	return fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // another type on macOS
}

// atPath reports whether the file is still the one at its path. If not, who
// holds it holds nothing.
func (f *lockFile) atPath() (bool, error) {
	var st unix.Stat_t
	switch err := unix.Lstat(f.path, &st); {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, f.fault("stat", err)
	}
	return identify(&st) == f.id, nil
}

// tryLock takes the lock as flock(1) does.
func (f *lockFile) tryLock() error { return f.fault("flock", tryFlock(f.fd)) }

// tryFlock takes a flock without waiting, or returns errBusy.
func tryFlock(fd int) error {
	err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errBusy
	}
	return err
}

// unlock frees the lock though there may be duplicates of the descriptor.
func (f *lockFile) unlock() error { return f.fault("flock", unix.Flock(f.fd, unix.LOCK_UN)) }

// close closes the descriptor. Locks are freed by name before: see drop.
func (f *lockFile) close() { _ = unix.Close(f.fd) }

// duplicate returns another descriptor of the same open file.
func (f *lockFile) duplicate() (uintptr, error) {
	fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 3)
	return uintptr(fd), f.fault("dup", err)
}

// content reads the file into buf, of maxRecord bytes: all of it, or the
// beginning of one that is too long to be ours.
func (f *lockFile) content(buf []byte) ([]byte, error) {
	n, err := unix.Pread(f.fd, buf, 0)
	if err != nil {
		return nil, f.fault("read", err)
	}
	f.size = max(f.size, int64(n))
	return buf[:n], nil
}

// setContent writes line over what is there. Where a file was longer than any
// record, the rest goes.
func (f *lockFile) setContent(line []byte) error {
	n, err := unix.Pwrite(f.fd, line, 0)
	if err == nil && n < len(line) {
		err = unix.ENOSPC
	}
	if err == nil && f.size > int64(len(line)) {
		err = unix.Ftruncate(f.fd, int64(len(line)))
	}
	return f.fault("write", err)
}

// removable reports whether an open file can be taken away from its path.
func (f *lockFile) removable() error { return nil }

// remove takes the file away from its path. Who has it open keeps it.
func (f *lockFile) remove() error { return os.Remove(f.path) }

// fault adds the path to an error other than errBusy.
func (f *lockFile) fault(op string, err error) error {
	if err == nil || errors.Is(err, errBusy) {
		return err
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
