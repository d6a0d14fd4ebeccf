//go:build unix

package filelock

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A bell is a waiter's named pipe. It has a reader for as long as the waiter
// lives, and a byte in it wakes the waiter.
type bell struct{ pipe *os.File }

// hangBell makes a pipe that has a reader before it can be seen at path.
func (d *directory) hangBell(temp, path string) (*bell, error) {
	if err := unix.Mkfifo(temp, 0o600); err != nil {
		return nil, &fs.PathError{Op: "mkfifo", Path: temp, Err: err}
	}
	fd, err := retry(func() (int, error) { return unix.Open(temp, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: temp, Err: err}, remove(temp))
	}
	b := &bell{pipe: os.NewFile(uintptr(fd), path)}
	err = b.pipe.Chmod(d.fileMode)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return nil, errors.Join(err, b.pipe.Close(), remove(temp))
	}
	return b, nil
}

// wait returns at the first ring, after d, or when interrupt is called, and
// says whether the bell rang.
func (b *bell) wait(d time.Duration, over func() bool) (bool, error) {
	if err := b.pipe.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false, err
	}
	// An interrupt from before the deadline was set is noticed here, a later
	// one by its own deadline.
	if over() {
		return false, nil
	}
	_, err := b.pipe.Read(make([]byte, 512))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
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
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	})
	switch {
	case errors.Is(err, unix.ENXIO):
		return dead
	case errors.Is(err, unix.ENOENT):
		return gone
	case err != nil:
		return alive
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return dead
	}
	if unread, err := unix.IoctlGetInt(fd, fionread); err == nil && unread > 0 {
		if time.Since(time.Unix(st.Mtim.Unix())) > frozenAfter {
			return frozen
		}
		return alive
	}
	if ring {
		_, _ = unix.Write(fd, []byte{1})
	}
	return alive
}
