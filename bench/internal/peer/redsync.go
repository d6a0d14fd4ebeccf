package peer

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// Redsync is go-redsync/redsync on go-redis, and RedsyncRueidis on rueidis; both
// with their default pauses, of 50 to 250 ms, but without a limit of attempts.
var (
	Redsync        = Library{Name: "redsync, go-redis", Open: openRedsync, Requests: []string{"set", "evalsha", "eval"}}
	RedsyncRueidis = Library{
		Name: "redsync, rueidis", Open: openRedsyncRueidis, Requests: []string{"set", "evalsha", "eval"},
	}
)

type redsyncClient struct {
	factory *redsync.Redsync
	close   func()
}

func openRedsync(addr string) (Client, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	return redsyncClient{redsync.New(goredis.NewPool(client)), func() { _ = client.Close() }}, nil
}

func openRedsyncRueidis(addr string) (Client, error) {
	client, err := rueidis.NewClient(rueidisOption(addr))
	if err != nil {
		return nil, err
	}
	return redsyncClient{redsync.New(redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client))), client.Close}, nil
}

var errNotReleased = errors.New("redsync did not release the lock")

// Acquire implements [Client].
func (c redsyncClient) Acquire(ctx context.Context, name string) (func() error, error) {
	mutex := c.mutex(name, TTL)
	release := func() error {
		ok, err := mutex.UnlockContext(ctx)
		if err == nil && !ok {
			return errNotReleased
		}
		return err
	}
	return release, mutex.LockContext(ctx)
}

// Abandon implements [Client].
func (c redsyncClient) Abandon(ctx context.Context, name string, ttl time.Duration) error {
	return c.mutex(name, ttl).LockContext(ctx)
}

func (c redsyncClient) mutex(name string, ttl time.Duration) *redsync.Mutex {
	return c.factory.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(1_000_000))
}

// Close implements [Client].
func (c redsyncClient) Close() { c.close() }
