package locktest

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// Bench measures what users pay: a cycle of acquire and release of a free
// lock, and a cycle under contention, by goroutines of one client and by
// clients of their own.
func Bench(b *testing.B, open func(b *testing.B) driver.Backend) {
	b.Run("uncontended", func(b *testing.B) {
		ctx := context.Background()
		m := benchClient(b, open).Mutex("job")
		for b.Loop() {
			cycle(ctx, b, m)
		}
	})
	for _, waiters := range []int{8, 64} {
		b.Run(fmt.Sprintf("handover/goroutines=%d", waiters), func(b *testing.B) {
			handOver(b, waiters, []*fencehold.Client{benchClient(b, open)})
		})
		b.Run(fmt.Sprintf("handover/clients=%d", waiters), func(b *testing.B) {
			var clients []*fencehold.Client
			for range waiters {
				clients = append(clients, benchClient(b, open))
			}
			handOver(b, waiters, clients)
		})
	}
}

func benchClient(b *testing.B, open func(b *testing.B) driver.Backend) *fencehold.Client {
	b.Helper()
	client, err := fencehold.New(open(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	return client
}

// handOver lets goroutines pass one lock around; an operation is one cycle of
// whoever has the turn.
func handOver(b *testing.B, waiters int, clients []*fencehold.Client) {
	b.Helper()
	processors := runtime.GOMAXPROCS(0)
	b.SetParallelism((waiters + processors - 1) / processors)
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		m := clients[int(next.Add(1))%len(clients)].Mutex("job")
		for pb.Next() {
			cycle(context.Background(), b, m)
		}
	})
}

func cycle(ctx context.Context, b *testing.B, m *fencehold.Mutex) {
	lease, err := m.Acquire(ctx)
	if err != nil {
		b.Error(err)
		return
	}
	if err := lease.Release(ctx); err != nil {
		b.Error(err)
	}
}
