package redislock_test

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock"
)

// The application's client serves its locks too.
func ExampleNew() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	backend, err := redislock.New(client, &redislock.Options{Prefix: "app:"})
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, err := fencehold.New(backend)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()

	err = locks.Mutex("nightly-backup").Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("nobody else does this now")
		return ctx.Err()
	})
	if err != nil {
		fmt.Println(err)
	}
}
