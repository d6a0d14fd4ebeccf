//go:build unix

package counter

import (
	"context"
	"errors"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fencehold/fencehold/filelock/internal/flock"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
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
	fd, err := lockdir.OpenDescriptor(path, unix.O_RDWR)
	if err != nil {
		return nil, err
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
	// Mappings begin at a page, so the words are aligned as atomic access needs.
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
	// A file that was renamed still has a name, and is counted in by those who
	// have it mapped.
	return unix.Fstat(m.fd, &st) != nil || st.Nlink == 0
}

// lock waits for the other processes that raise the limit.
func (m *mapping) lock(ctx context.Context) error {
	return flock.Poll(ctx, func() error { return flock.Try(m.fd) })
}

// unlock lets the next process raise the limit.
func (m *mapping) unlock() { _ = flock.Free(m.fd) }

// sync makes durable what was written to the mapping.
func (m *mapping) sync() error {
	// On Linux msync alone reaches the disk; elsewhere it may end at the file's
	// pages, and the disk is promised of fsync.
	err := unix.Msync(m.data, unix.MS_SYNC)
	if err == nil {
		err = m.fsync()
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: m.path, Err: err}
	}
	return nil
}

// fsync repeats the call for as long as signals interrupt it.
func (m *mapping) fsync() error {
	for {
		if err := flush(m.fd); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// close unmaps the file. Nobody may use its words any more.
func (m *mapping) close() {
	if m.data != nil {
		_ = unix.Munmap(m.data)
	}
	_ = unix.Close(m.fd)
}
