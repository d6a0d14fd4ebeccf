//go:build unix

package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// A Change is the end of a child.
type Change struct {
	// PID is the child.
	PID int
	// Status says how it ended.
	Status unix.WaitStatus
}

// Reap frees the children of this process that have ended, and returns them.
func Reap() []Change {
	var changes []Change
	for {
		var status unix.WaitStatus
		// Any child: those that were adopted are known by no number.
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || pid <= 0:
			return changes
		}
		changes = append(changes, Change{pid, status})
	}
}
