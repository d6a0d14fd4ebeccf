//go:build unix

package flock

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Try takes the flock(2) of an open file without waiting, or returns [ErrBusy].
func Try(fd int) error {
	err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrBusy
	}
	return err
}

// Free frees it, though there may be duplicates of the descriptor.
func Free(fd int) error { return unix.Flock(fd, unix.LOCK_UN) }
