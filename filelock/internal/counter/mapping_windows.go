package counter

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/fencehold/fencehold/filelock/internal/flock"
)

// raiseByte is the byte that is locked by whoever raises the limit.
const raiseByte = 0

// A mapping is the counter's file in memory, shared by all processes.
type mapping struct {
	file  *os.File
	view  uintptr
	words *counterWords
}

// openMapping maps a file that exists and has the right size.
func openMapping(path string) (*mapping, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	m := &mapping{file: file}
	err = m.open(path)
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// open makes the view.
func (m *mapping) open(path string) error {
	if m.size() != counterSize {
		return &fs.PathError{Op: "use", Path: path, Err: errors.New("not a token counter: wrong size")}
	}
	h, err := windows.CreateFileMapping(windows.Handle(m.file.Fd()), nil, windows.PAGE_READWRITE, 0, counterSize, nil)
	if err != nil {
		return &fs.PathError{Op: "map", Path: path, Err: err}
	}
	// The view keeps the file mapped without it.
	defer func() { _ = windows.CloseHandle(h) }()
	m.view, err = windows.MapViewOfFile(h, windows.FILE_MAP_WRITE, 0, 0, counterSize)
	if err != nil {
		return &fs.PathError{Op: "map", Path: path, Err: err}
	}
	// The view is memory that the collector does not know and never moves.
	m.words = *(**counterWords)(unsafe.Pointer(&m.view))
	return nil
}

// size returns the size of the file now, or -1.
func (m *mapping) size() int64 {
	info, err := m.file.Stat()
	if err != nil {
		return -1
	}
	return info.Size()
}

// removed is false: an open file cannot be removed on this system.
func (m *mapping) removed() bool { return false }

// lock waits for the other processes that raise the limit.
func (m *mapping) lock(ctx context.Context) error {
	return flock.Poll(ctx, func() error { return flock.Try(m.file, raiseByte) })
}

// unlock lets the next process raise the limit.
func (m *mapping) unlock() {
	_ = flock.Free(m.file, raiseByte)
}

// sync makes durable what was written to the mapping.
func (m *mapping) sync() error {
	return errors.Join(windows.FlushViewOfFile(m.view, counterSize), m.file.Sync())
}

// close unmaps the file. Nobody may use its words any more.
func (m *mapping) close() {
	if m.view != 0 {
		_ = windows.UnmapViewOfFile(m.view)
	}
	_ = m.file.Close()
}
