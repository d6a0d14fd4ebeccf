//go:build unix

package filelock_test

import (
	"testing"
	"time"

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
