package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/memlock"
)

// How does a worker cope when its lock is taken away?
func Example() {
	ctx := context.Background()
	server := memlock.New()
	locks, _ := fencehold.New(server.Backend(), fencehold.WithTTL(100*time.Millisecond))
	defer locks.Close()

	err := locks.Mutex("job").Do(ctx, func(ctx context.Context) error {
		server.Expire("job") // what a long pause would do
		<-ctx.Done()
		return ctx.Err()
	})
	fmt.Println("lost:", errors.Is(err, fencehold.ErrLost))
	// Output: lost: true
}

// The answer to the first request is lost; the attempt finds its own grant.
func ExampleServer_Script() {
	ctx := context.Background()
	server := memlock.New()
	calls := 0
	server.Script(func(c memlock.Call) memlock.Fault {
		calls++
		if calls == 1 {
			return memlock.Fault{DropReply: true, Err: errors.New("connection reset")}
		}
		return memlock.Fault{}
	})
	locks, _ := fencehold.New(server.Backend())
	defer locks.Close()
	_, err := locks.Mutex("job").TryAcquire(ctx)
	fmt.Println(err, calls)
	// Output: <nil> 2
}
