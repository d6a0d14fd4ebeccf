package fencehold_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/memlock"
)

func ExampleOpen() {
	ctx := context.Background()
	// Importing memlock made its scheme known; file:// needs filelock.
	locks, err := fencehold.Open(ctx, "mem://example", fencehold.WithFeatures(fencehold.Fencing))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()
	fmt.Println(locks.Features())
	// Output: fencing, fair queue, min hold
}

func ExampleNew() {
	locks, err := fencehold.New(memlock.New().Backend(), fencehold.WithTTL(time.Millisecond))
	fmt.Println(locks, err)
	// Output: <nil> open (memory): invalid argument: TTL 1ms: memory takes no less than 100ms
}

func ExampleMutex_Do() {
	ctx := context.Background()
	locks, _ := fencehold.Open(ctx, "mem://example")
	defer locks.Close()
	store := fence.Fence{} // what the store has seen
	err := locks.Mutex("invoices/42").Do(ctx, func(ctx context.Context) error {
		f, _ := fence.From(ctx)
		if store.Supersedes(f) {
			return fence.ErrStale
		}
		store = f
		fmt.Println("billed under the lock", f.Name)
		return nil
	})
	fmt.Println(err)
	// Output:
	// billed under the lock invoices/42
	// <nil>
}

func ExampleMutex_TryAcquire() {
	ctx := context.Background()
	server := memlock.New()
	mine, _ := fencehold.New(server.Backend(), fencehold.WithOwner("worker-1"))
	defer mine.Close()
	theirs, _ := fencehold.New(server.Backend(), fencehold.WithOwner("worker-2"))
	defer theirs.Close()

	lease, _ := mine.Mutex("nightly").TryAcquire(ctx)
	_, err := theirs.Mutex("nightly").TryAcquire(ctx)
	if held, ok := errors.AsType[*fencehold.HeldError](err); ok {
		fmt.Println("held by", held.Owner)
	}
	fmt.Println(lease.Release(ctx))
	_, err = theirs.Mutex("nightly").TryAcquire(ctx)
	fmt.Println(err)
	// Output:
	// held by worker-1
	// <nil>
	// <nil>
}

// A holder loses its lock: the context of its work ends, and says why.
func ExampleLease_Context() {
	ctx := context.Background()
	server := memlock.New()
	locks, _ := fencehold.New(server.Backend(), fencehold.WithTTL(200*time.Millisecond))
	defer locks.Close()
	lease, _ := locks.Mutex("report").Acquire(ctx)
	work := lease.Context(ctx)

	server.Delete("report")
	<-work.Done()
	fmt.Println(context.Cause(work))
	fmt.Println(errors.Is(lease.Release(ctx), fencehold.ErrLost))
	// Output:
	// hold report (memory): lease lost: deleted
	// true
}
