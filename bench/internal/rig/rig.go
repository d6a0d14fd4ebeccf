// Package rig lets programs use the test harness that starts real servers.
package rig

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// Rig is the harness's idea of a test, for a program. Make one with [New].
type Rig struct {
	errors io.Writer

	mu       sync.Mutex
	cleanups []func()
}

// New returns a rig that reports to errors. The caller closes it.
func New(errors io.Writer) *Rig { return &Rig{errors: errors} }

// Helper does nothing: a program has no lines of a test to report.
func (r *Rig) Helper() {}

// Logf writes one line.
func (r *Rig) Logf(format string, args ...any) { _, _ = fmt.Fprintf(r.errors, format+"\n", args...) }

// Fatalf writes one line, closes the rig and ends the program with status 1.
func (r *Rig) Fatalf(format string, args ...any) {
	r.Logf(format, args...)
	r.Close()
	os.Exit(1)
}

// Cleanup has f called by [Rig.Close], the last one first.
func (r *Rig) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// TempDir returns a directory that [Rig.Close] removes.
func (r *Rig) TempDir() string {
	dir, err := os.MkdirTemp("", "fencehold-bench-")
	if err != nil {
		r.Fatalf("make a directory: %v", err)
	}
	r.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Close ends what was started on the rig. A second Close does nothing.
func (r *Rig) Close() {
	for {
		r.mu.Lock()
		n := len(r.cleanups)
		if n == 0 {
			r.mu.Unlock()
			return
		}
		last := r.cleanups[n-1]
		r.cleanups = r.cleanups[:n-1]
		r.mu.Unlock()
		last()
	}
}
