package fencehold_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/memlock"
)

// newClient returns a client of its own on server, closed with the test.
func newClient(tb testing.TB, server *memlock.Server, opts ...fencehold.Option) *fencehold.Client {
	tb.Helper()
	return newClientOn(tb, server.Backend(), opts...)
}

func newClientOn(tb testing.TB, backend driver.Backend, opts ...fencehold.Option) *fencehold.Client {
	tb.Helper()
	client, err := fencehold.New(backend, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
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
