//go:build unix

package lockdir

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// OpenDescriptor opens what is at path with these flags, as a bare descriptor
// that no child inherits. It does not follow a link in the last element. What
// goes wrong is an [*fs.PathError].
func OpenDescriptor(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		switch {
		case err == nil:
			return fd, nil
		// The runtime interrupts its own threads with signals, and an open can
		// end for that on some file systems.
		case !errors.Is(err, unix.EINTR):
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// OpenDir opens a directory to be read. Whatever else is at path, such as a
// named pipe, is refused and not waited for.
func OpenDir(path string) (*os.File, error) {
	fd, err := OpenDescriptor(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
