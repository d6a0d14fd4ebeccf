//go:build unix

package filelock

import (
	"context"
	"errors"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A mapping is the counter's file in memory, shared by all processes.
type mapping struct {
	fd    int
	path  string
	data  []byte
	words *counterWords
}

// openMapping maps a file that exists and has the right size.
func openMapping(path string) (*mapping, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	m := &mapping{fd: fd, path: path}
	// A page beyond the end of a file can be mapped, but not touched.
	if m.size() != counterSize {
		m.close()
		return nil, &fs.PathError{Op: "use", Path: path, Err: errors.New("not a token counter: wrong size")}
	}
	m.data, err = unix.Mmap(fd, 0, counterSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		m.close()
		return nil, &fs.PathError{Op: "map", Path: path, Err: err}
	}
	m.words = (*counterWords)(unsafe.Pointer(unsafe.SliceData(m.data)))
	return m, nil
}

// size returns the size of the file now, or -1.
func (m *mapping) size() int64 {
	var st unix.Stat_t
	if unix.Fstat(m.fd, &st) != nil {
		return -1
	}
	return st.Size
}

// removed reports whether the file has no name any more.
func (m *mapping) removed() bool {
	var st unix.Stat_t
	return unix.Fstat(m.fd, &st) != nil || st.Nlink == 0
}

// lock waits for the other processes that raise the limit.
func (m *mapping) lock(ctx context.Context) error {
	return poll(ctx, func() error { return tryFlock(m.fd) })
}

// unlock lets the next process raise the limit.
func (m *mapping) unlock() { _ = unix.Flock(m.fd, unix.LOCK_UN) }

// sync makes durable what was written to the mapping.
func (m *mapping) sync() error {
	err := unix.Msync(m.data, unix.MS_SYNC)
	if err == nil {
		_, err = retry(func() (int, error) { return 0, unix.Fsync(m.fd) })
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: m.path, Err: err}
	}
	return nil
}

// close unmaps the file. Nobody may use its words any more.
func (m *mapping) close() {
	if m.data != nil {
		_ = unix.Munmap(m.data)
	}
	_ = unix.Close(m.fd)
}
