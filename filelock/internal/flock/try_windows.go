package flock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks one of the bytes far beyond the content of any open file, without
// waiting, or returns [ErrBusy]. Bytes that are locked could not be read.
func Try(file *os.File, at uint32) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, overlapped(at))
	// On a handle for overlapped use the system reports a busy lock as one that
	// is still being taken.
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrBusy
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: file.Name(), Err: err}
	}
	return nil
}

// Free frees the byte.
func Free(file *os.File, at uint32) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, overlapped(at))
}

// overlapped names a byte, counted from 1<<62, in the way of the system.
func overlapped(at uint32) *windows.Overlapped {
	return &windows.Overlapped{Offset: at, OffsetHigh: 1 << 30}
}
