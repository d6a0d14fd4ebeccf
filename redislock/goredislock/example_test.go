package goredislock_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock/goredislock"
)

// The application's client serves its locks too.
func ExampleNew() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer rdb.Close()
	backend, err := goredislock.New(rdb, nil)
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
