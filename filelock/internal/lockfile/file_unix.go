//go:build unix

package lockfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fencehold/fencehold/filelock/internal/flock"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// A File is an open lock file. Its descriptor is its own, so that goroutines
// exclude each other like processes.
type File struct {
	guarding //nolint:unused // what the guard needs on this system

	dir  *lockdir.Dir
	path string
	fd   int
	id   fileID
	size int64
}

// A fileID tells a file from every other, whatever its name.
type fileID struct{ dev, ino uint64 }

// Open opens a lock file of dir that exists.
func Open(dir *lockdir.Dir, path string, write bool) (*File, error) {
	// In its place somebody may have put a named pipe, whose opening would
	// wait, or a terminal.
	flags := unix.O_NONBLOCK | unix.O_NOCTTY
	if write {
		flags |= unix.O_RDWR
	}
	fd, err := lockdir.OpenDescriptor(path, flags)
	if err != nil {
		return nil, err
	}
	f := &File{dir: dir, path: path, fd: fd}
	if err := f.stat(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// stat remembers which file this is, and refuses what is not a plain one.
func (f *File) stat() error {
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

// AtPath reports whether the file is still the one at its path. If not, who
// holds it holds nothing.
func (f *File) AtPath() (bool, error) {
	// Not Stat: a link to the file would pass for it, but whoever follows the
	// path refuses the link.
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
func (f *File) tryLock() error { return f.fault("flock", flock.Try(f.fd)) }

// unlock frees the lock though there may be duplicates of the descriptor.
func (f *File) unlock() error { return f.fault("flock", flock.Free(f.fd)) }

// Close closes the descriptor. Locks are freed by name before: see [File.Free].
func (f *File) Close() { _ = unix.Close(f.fd) }

// Duplicate returns another descriptor of the same open file.
func (f *File) Duplicate() (uintptr, error) {
	// From 3 on: a process that was started without its standard streams must
	// not find the lock among them.
	fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 3)
	return uintptr(fd), f.fault("dup", err)
}

// content reads the file into buf, of maxRecord bytes: all of it, or the
// beginning of one that is too long to be ours.
func (f *File) content(buf []byte) ([]byte, error) {
	n, err := unix.Pread(f.fd, buf, 0)
	if err != nil {
		return nil, f.fault("read", err)
	}
	// Another process may have written more since the file was opened.
	f.size = max(f.size, int64(n))
	return buf[:n], nil
}

// setContent writes line over what is there. Where a file was longer than any
// record, the rest goes.
func (f *File) setContent(line []byte) error {
	// One call: a process that is killed has written all of the page or nothing.
	n, err := unix.Pwrite(f.fd, line, 0)
	if err == nil && n < len(line) {
		err = unix.ENOSPC
	}
	if err == nil && f.size > int64(len(line)) {
		err = unix.Ftruncate(f.fd, int64(len(line)))
	}
	return f.fault("write", err)
}

// Removable reports whether an open file can be taken away from its path.
func (f *File) Removable() error { return nil }

// Remove takes the file away from its path. Who has it open keeps it.
func (f *File) Remove() error { return os.Remove(f.path) }

// fault adds the path to an error other than flock.ErrBusy.
func (f *File) fault(op string, err error) error {
	if err == nil || errors.Is(err, flock.ErrBusy) {
		return err
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}
