package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"github.com/fencehold/fencehold/filelock/internal/flock"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// A File is an open lock file. Locks belong to its handle, and their bytes
// lie far beyond the content: bytes that are locked could not be read.
type File struct {
	path string
	file *os.File
	size int64
}

// The bytes that carry the lock, the guard and the mark, from 1<<62 on.
const (
	lockByte uint32 = iota
	guardByte
	markByte
)

// Open opens a lock file that exists.
func Open(_ *lockdir.Dir, path string, write bool) (*File, error) {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	file, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "use", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &File{path: path, file: file, size: info.Size()}, nil
}

// AtPath reports whether the file is still the one at its path.
func (f *File) AtPath() (bool, error) {
	now, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	own, err := f.file.Stat()
	return err == nil && os.SameFile(own, now), err
}

// tryLock takes the lock, or returns flock.ErrBusy.
func (f *File) tryLock() error { return f.lockByte(lockByte) }

// unlock frees the lock.
func (f *File) unlock() error { return f.unlockByte(lockByte) }

// tryGuard takes the guard, or returns flock.ErrBusy.
func (f *File) tryGuard() error { return f.lockByte(guardByte) }

// Unguard frees the guard.
func (f *File) Unguard() { _ = f.unlockByte(guardByte) }

// unmark frees the mark.
func (f *File) unmark() { _ = f.unlockByte(markByte) }

// tryGuardAndMark takes one after the other: the system frees ranges only as they
// were locked.
func (f *File) tryGuardAndMark() error {
	if err := f.tryGuard(); err != nil {
		return err
	}
	err := f.lockByte(markByte)
	if err != nil {
		f.Unguard()
	}
	return err
}

// lockByte locks one of the three bytes.
func (f *File) lockByte(at uint32) error { return flock.Try(f.file, at) }

// unlockByte frees one of the three bytes.
func (f *File) unlockByte(at uint32) error {
	return f.fault("unlock", flock.Free(f.file, at))
}

// Marked tries the mark for a moment: this system cannot be asked. An attempt
// that meets it waits for that moment.
func (f *File) Marked() (bool, error) {
	err := f.lockByte(markByte)
	if errors.Is(err, flock.ErrBusy) {
		return true, nil
	}
	if err == nil {
		f.unmark()
	}
	return false, err
}

// claimed is marked: who is about to have the mark has it.
func (f *File) claimed() (bool, error) { return f.Marked() }

// foreign knows nothing: no other program is known to lock this byte.
func (f *File) foreign() (bool, int, error) { return false, 0, nil }

// Close closes the handle. Locks are freed by name before: the system may take its
// time about those of a closed handle.
func (f *File) Close() { _ = f.file.Close() }

// Duplicate returns another handle of the same open file.
func (f *File) Duplicate() (uintptr, error) {
	var dup windows.Handle
	process := windows.CurrentProcess()
	err := windows.DuplicateHandle(process, windows.Handle(f.file.Fd()), process, &dup,
		0, false, windows.DUPLICATE_SAME_ACCESS)
	return uintptr(dup), f.fault("duplicate", err)
}

// content reads the file into buf, as much as fits.
func (f *File) content(buf []byte) ([]byte, error) {
	n, err := f.file.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f.size = max(f.size, int64(n))
	return buf[:n], nil
}

// setContent writes line over what is there.
func (f *File) setContent(line []byte) error {
	_, err := f.file.WriteAt(line, 0)
	if err == nil && f.size > int64(len(line)) {
		err = f.file.Truncate(int64(len(line)))
	}
	return err
}

// Removable refuses: an open file keeps its path on this system.
func (f *File) Removable() error {
	return fmt.Errorf("revoking a grant of process mode on Windows: %w", errors.ErrUnsupported)
}

// Remove is never reached: removable comes first.
func (f *File) Remove() error { return f.Removable() }

// fault adds the path to an error.
func (f *File) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}
