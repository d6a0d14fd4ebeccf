package line

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"

	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// A bell is a file that the system removes with its process. Nobody can ring
// it, since there are no named pipes among the files: waiters look for
// themselves.
type bell struct {
	handle windows.Handle
	stop   chan struct{}
}

// hangBell makes a ticket that goes with its handle.
func hangBell(_ *lockdir.Dir, _, path string) (*bell, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	handle, err := windows.CreateFile(name, windows.GENERIC_WRITE|windows.DELETE, share, nil,
		windows.CREATE_NEW, windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return &bell{handle: handle, stop: make(chan struct{}, 1)}, nil
}

// longestWait is how long a waiter goes without a look, since nobody rings.
const longestWait = 50 * time.Millisecond

// wait returns after d, or when it is interrupted.
func (b *bell) wait(d time.Duration, over func() bool) error {
	timer := time.NewTimer(min(d, longestWait))
	defer timer.Stop()
	if over() {
		return nil
	}
	select {
	case <-timer.C:
	case <-b.stop:
	}
	return nil
}

// interrupt ends a wait that has begun, or the next one.
func (b *bell) interrupt() {
	select {
	case b.stop <- struct{}{}:
	default:
	}
}

// close removes the ticket.
func (b *bell) close() { _ = windows.CloseHandle(b.handle) }

// look finds a ticket alive as long as it is there.
func look(path string, _ bool) liveness {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return gone
	}
	return alive
}
