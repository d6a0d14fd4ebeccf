//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// readerGone reports whether nobody can read what is written to out any more: a
// pipe, a socket or a terminal of which the other end is closed.
func readerGone(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}

// refuseClosed refuses an out that was closed when this process began. The
// runtime of Go has put the null device there, open for reading too, which a
// shell does not do for > /dev/null.
func refuseClosed(out io.Writer) error {
	f, ok := out.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(info, null) {
		return nil //nolint:nilerr // without a null device it is none
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDWR {
		return &os.PathError{Op: "write", Path: f.Name(), Err: errors.New(
			"closed, or the null device open for reading too: nobody would learn the holder")}
	}
	return nil
}

// survivePipe lets a write to a pipe without a reader fail, where it would end
// this process.
func survivePipe() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }
