package locktest

import (
	"context"
	"fmt"
	"sync"
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
			client := benchClient(b, open)
			handOver(b, waiters, func() *fencehold.Client { return client })
		})
		b.Run(fmt.Sprintf("handover/clients=%d", waiters), func(b *testing.B) {
			handOver(b, waiters, func() *fencehold.Client { return benchClient(b, open) })
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
func handOver(b *testing.B, waiters int, client func() *fencehold.Client) {
	b.Helper()
	var working sync.WaitGroup
	turns := make(chan struct{}, waiters)
	for range waiters {
		m := client().Mutex("job")
		working.Go(func() {
			for range turns {
				cycle(context.Background(), b, m)
			}
		})
	}
	for b.Loop() {
		turns <- struct{}{}
	}
	close(turns)
	working.Wait()
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
