package filelock

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// A lockFile is an open lock file. Locks belong to its handle, and their bytes
// lie far beyond the content: bytes that are locked could not be read.
type lockFile struct {
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

// openFile opens a lock file that exists.
func (d *directory) openFile(path string, write bool) (*lockFile, error) {
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
	return &lockFile{path: path, file: file, size: info.Size()}, nil
}

// atPath reports whether the file is still the one at its path.
func (f *lockFile) atPath() (bool, error) {
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

// tryLock takes the lock, or returns errBusy.
func (f *lockFile) tryLock() error { return f.lockByte(lockByte) }

// unlock frees the lock.
func (f *lockFile) unlock() error { return f.unlockByte(lockByte) }

// tryGuard takes the guard, or returns errBusy.
func (f *lockFile) tryGuard() error { return f.lockByte(guardByte) }

// unguard frees the guard.
func (f *lockFile) unguard() { _ = f.unlockByte(guardByte) }

// unmark frees the mark.
func (f *lockFile) unmark() { _ = f.unlockByte(markByte) }

// tryGuardAndMark takes one after the other: the system frees ranges only as they
// were locked.
func (f *lockFile) tryGuardAndMark() error {
	if err := f.tryGuard(); err != nil {
		return err
	}
	err := f.lockByte(markByte)
	if err != nil {
		f.unguard()
	}
	return err
}

// lockByte locks one of the three bytes.
func (f *lockFile) lockByte(at uint32) error { return lockHandle(f.file, at) }

// unlockByte frees one of the three bytes.
func (f *lockFile) unlockByte(at uint32) error {
	return f.fault("unlock", windows.UnlockFileEx(windows.Handle(f.file.Fd()), 0, 1, 0, overlapped(at)))
}

// lockHandle locks a byte of any open file, without waiting.
func lockHandle(file *os.File, at uint32) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, overlapped(at))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errBusy
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: file.Name(), Err: err}
	}
	return nil
}

// overlapped names a byte in the way of the system.
func overlapped(at uint32) *windows.Overlapped {
	return &windows.Overlapped{Offset: at, OffsetHigh: 1 << 30}
}

// marked tries the mark for a moment: this system cannot be asked. An attempt
// that meets it waits for that moment.
func (f *lockFile) marked() (bool, error) {
	err := f.lockByte(markByte)
	if errors.Is(err, errBusy) {
		return true, nil
	}
	if err == nil {
		f.unmark()
	}
	return false, err
}

// claimed is marked: who is about to have the mark has it.
func (f *lockFile) claimed() (bool, error) { return f.marked() }

// foreign knows nothing: no other program is known to lock this byte.
func (f *lockFile) foreign() (bool, int, error) { return false, 0, nil }

// close closes the handle. Locks are freed by name before: the system may take its
// time about those of a closed handle.
func (f *lockFile) close() { _ = f.file.Close() }

// duplicate returns another handle of the same open file.
func (f *lockFile) duplicate() (uintptr, error) {
	var dup windows.Handle
	process := windows.CurrentProcess()
	err := windows.DuplicateHandle(process, windows.Handle(f.file.Fd()), process, &dup,
		0, false, windows.DUPLICATE_SAME_ACCESS)
	return uintptr(dup), f.fault("duplicate", err)
}

// content reads the file into buf, as much as fits.
func (f *lockFile) content(buf []byte) ([]byte, error) {
	n, err := f.file.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f.size = max(f.size, int64(n))
	return buf[:n], nil
}

// setContent writes line over what is there.
func (f *lockFile) setContent(line []byte) error {
	_, err := f.file.WriteAt(line, 0)
	if err == nil && f.size > int64(len(line)) {
		err = f.file.Truncate(int64(len(line)))
	}
	return err
}

// removable refuses: an open file keeps its path on this system.
func (f *lockFile) removable() error {
	return unsupported("revoking a grant of process mode on Windows")
}

// remove is never reached: removable comes first.
func (f *lockFile) remove() error { return f.removable() }

// fault adds the path to an error.
func (f *lockFile) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}
