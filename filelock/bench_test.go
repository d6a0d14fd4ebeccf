//go:build unix

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock"
)

// BenchmarkCycle is one uncontended acquire and release.
func BenchmarkCycle(b *testing.B) {
	for _, mode := range []struct {
		name string
		opts filelock.Options
	}{{"process", filelock.Options{}}, {"lease", filelock.Options{Lease: true}}} {
		b.Run(mode.name, func(b *testing.B) {
			backend, err := filelock.New(b.TempDir(), &mode.opts)
			if err != nil {
				b.Fatal(err)
			}
			defer backend.Close()
			for b.Loop() {
				req := driver.Request{
					Name: "bench", Holder: driver.NewHolder(), Owner: "somebody@somewhere", TTL: 30 * time.Second,
				}
				grant, err := backend.TryAcquire(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				if err := backend.Release(b.Context(), grant, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLease is the same through a client: with renewal, loss and errors.
func BenchmarkLease(b *testing.B) {
	client, err := fencehold.Open(b.Context(), "file://"+b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	mutex := client.Mutex("bench")
	for b.Loop() {
		lease, err := mutex.TryAcquire(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandOver is the time from a release to the grant of one who waits.
func BenchmarkHandOver(b *testing.B) {
	dir := b.TempDir()
	one, two := newBackend(b, dir, nil), newBackend(b, dir, nil)
	grant := acquire(b, one, "bench")
	var total time.Duration
	for b.Loop() {
		next, had := make(chan driver.Grant), time.Time{}
		go func() {
			grant, err := two.Acquire(b.Context(), request("bench"))
			if err != nil {
				b.Error(err)
			}
			had = time.Now()
			next <- grant
		}()
		awaitWaiters(b, one, "bench", 1)
		start := time.Now()
		release(b, one, grant)
		grant = <-next
		total += had.Sub(start)
		one, two = two, one
	}
	b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/hand-over")
	release(b, one, grant)
}

// BenchmarkFlock is what the system alone takes for such a cycle.
func BenchmarkFlock(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.lock")
	check(b, os.WriteFile(path, nil, 0o600))
	for b.Loop() {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
		if err == nil {
			err = errors.Join(syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB), syscall.Flock(fd, syscall.LOCK_UN),
				syscall.Close(fd))
		}
		check(b, err)
	}
}
