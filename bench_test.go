package fencehold_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/memlock"
)

// newClient returns a client of its own on server, closed with the test.
func newClient(tb testing.TB, server *memlock.Server, opts ...fencehold.Option) *fencehold.Client {
	tb.Helper()
	client, err := fencehold.New(server.Backend(), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// BenchmarkUncontended is one goroutine that takes and releases a free lock.
func BenchmarkUncontended(b *testing.B) {
	ctx := context.Background()
	m := newClient(b, memlock.New()).Mutex("job")
	for b.Loop() {
		lease, err := m.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandOver is goroutines of one client that pass one lock around.
func BenchmarkHandOver(b *testing.B) {
	for _, waiters := range []int{8, 64} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			ctx := context.Background()
			m := newClient(b, memlock.New()).Mutex("job")
			b.SetParallelism((waiters + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					lease, err := m.Acquire(ctx)
					if err != nil {
						b.Error(err)
						return
					}
					if err := lease.Release(ctx); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkHeldLeases holds 10,000 leases and reports what each one costs.
func BenchmarkHeldLeases(b *testing.B) {
	const leases = 10_000
	ctx := context.Background()
	for b.Loop() {
		client := newClient(b, memlock.New())
		names := make([]string, leases)
		for i := range names {
			names[i] = fmt.Sprintf("lock-%d", i)
		}
		held := make([]*fencehold.Lease, leases)
		goroutines, heap := runtime.NumGoroutine(), heapInUse()
		for i, name := range names {
			lease, err := client.Mutex(name).Acquire(ctx)
			if err != nil {
				b.Fatal(err)
			}
			held[i] = lease
		}
		b.ReportMetric(float64(heapInUse()-heap)/leases, "heap-B/lease")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		runtime.KeepAlive(held)
		_ = client.Close()
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
