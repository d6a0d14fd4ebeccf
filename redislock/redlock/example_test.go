package redlock_test

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// A lock on three servers, of which one may be down.
func Example() {
	locks, err := fencehold.Open(context.Background(), "redlock://a.example,b.example,c.example")
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

// The application's clients, one for each server, serve its locks too.
func ExampleNew() {
	var clients []rueidis.Client
	for _, addr := range []string{"a.example:6379", "b.example:6379", "c.example:6379"} {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{addr}, DisableRetry: true, PipelineMultiplex: -1,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer client.Close()
		clients = append(clients, client)
	}
	backend, err := redlock.New(clients, nil)
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
}
