//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/filelock"
)

// temporary makes a directory for an example.
func temporary() (string, func()) {
	dir, err := os.MkdirTemp("", "locks")
	if err != nil {
		panic(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// One process at a time does the work; the lock is free at once if it dies.
func Example() {
	ctx := context.Background()
	dir, remove := temporary()
	defer remove()
	client, err := fencehold.Open(ctx, "file://"+dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	err = client.Mutex("nightly-backup").Do(ctx, func(context.Context) error {
		_, err := client.Mutex("nightly-backup").TryAcquire(ctx)
		fmt.Println("somebody else:", errors.Is(err, fencehold.ErrHeld))
		return nil
	})
	fmt.Println("done:", err)
	// Output:
	// somebody else: true
	// done: <nil>
}

// A grant of lease mode does not need the process that asked for it: another
// one takes it up by its name and holder.
func ExampleNew() {
	ctx := context.Background()
	dir, remove := temporary()
	defer remove()
	backend, err := filelock.New(dir, &filelock.Options{Lease: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := fencehold.New(backend, fencehold.WithTTL(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	lease, err := client.Mutex("deploy").Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := client.Resume(ctx, lease.Fence())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the same grant:", again.Token() == lease.Token())
	fmt.Println("runs out by time:", !again.Pinned())
	// Output:
	// the same grant: true
	// runs out by time: true
}
