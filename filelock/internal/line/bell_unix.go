//go:build unix

package line

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// A bell is a waiter's named pipe. It has a reader for as long as the waiter
// lives, and a byte in it wakes the waiter.
type bell struct{ pipe *os.File }

// hangBell makes a pipe that has a reader before it can be seen at path.
func hangBell(dir *lockdir.Dir, temp, path string) (*bell, error) {
	if err := unix.Mkfifo(temp, 0o600); err != nil {
		return nil, &fs.PathError{Op: "mkfifo", Path: temp, Err: err}
	}
	// For writing too: a pipe whose last writer has gone is at its end, and
	// would be ready to read for good.
	fd, err := lockdir.OpenDescriptor(temp, unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		return nil, errors.Join(err, lockdir.Remove(temp))
	}
	b := &bell{pipe: os.NewFile(uintptr(fd), path)}
	err = dir.Finish(temp)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return nil, errors.Join(err, b.pipe.Close(), lockdir.Remove(temp))
	}
	return b, nil
}

// wait returns at the first ring, after d, or when interrupt is called.
func (b *bell) wait(d time.Duration, over func() bool) error {
	if err := b.pipe.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	// An interrupt from before the deadline was set is noticed here, a later
	// one by its own deadline.
	if over() {
		return nil
	}
	// All rings are heard at once. One that came before the wait has stayed in
	// the pipe, and ends it.
	_, err := b.pipe.Read(make([]byte, 512))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// interrupt ends a wait that has begun.
func (b *bell) interrupt() { _ = b.pipe.SetReadDeadline(time.Unix(1, 0)) }

// close leaves the pipe without a reader: its waiter is dead to all others.
func (b *bell) close() { _ = b.pipe.Close() }

// frozenAfter is how long a waiter may leave a ring unanswered before others
// go past it.
const frozenAfter = time.Second

// look says what became of the waiter whose bell is at path, and rings it if
// that is wanted. A bell that was rung is not rung again until the waiter has
// heard it, so that the time of the pipe is that of the first ring.
func look(path string, ring bool) liveness {
	// Opening for writing alone fails where there is no reader; and the reader
	// goes with its process, however that ends.
	fd, err := lockdir.OpenDescriptor(path, unix.O_WRONLY|unix.O_NONBLOCK)
	switch {
	case errors.Is(err, unix.ENXIO):
		return dead
	case errors.Is(err, unix.ENOENT):
		return gone
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.ELOOP):
		return dead // it never was a bell
	case err != nil:
		// What this process may not open, or has no descriptor left for, is
		// nobody's end.
		return alive
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return dead
	}
	if unread, err := unix.IoctlGetInt(fd, fionread); err == nil && unread > 0 {
		// A ring from the future is of before the clock was set back, and says
		// no more than an old one.
		if time.Since(time.Unix(st.Mtim.Unix())).Abs() > frozenAfter {
			return frozen
		}
		return alive
	}
	if ring {
		_, _ = unix.Write(fd, []byte{1})
	}
	return alive
}
