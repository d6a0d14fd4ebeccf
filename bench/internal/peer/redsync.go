package peer

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// Redsync is go-redsync/redsync on go-redis, and RedsyncRueidis on rueidis; both
// with their default pauses, of 50 to 250 ms, but without a limit of attempts. On
// several servers they are Redlock. SharedRedsync is RedsyncRueidis on the very
// clients of rueidis that fencehold uses; see [RedsyncOn].
var (
	Redsync        = Library{Name: "redsync, go-redis", Open: openRedsync, Requests: []string{"set", "evalsha", "eval"}}
	RedsyncRueidis = Library{
		Name: "redsync, rueidis", Open: openRedsyncRueidis, Requests: []string{"set", "evalsha", "eval"},
	}
	SharedRedsync = Library{Name: "redsync, fencehold's rueidis"}
)

type redsyncClient struct {
	factory *redsync.Redsync
	close   func()
}

func openRedsync(addrs ...string) (Client, error) {
	var clients []*redis.Client
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		clients, pools = append(clients, client), append(pools, goredis.NewPool(client))
	}
	return redsyncClient{redsync.New(pools...), func() {
		for _, client := range clients {
			_ = client.Close()
		}
	}}, nil
}

func openRedsyncRueidis(addrs ...string) (Client, error) {
	clients, err := openRueidis(addrs)
	if err != nil {
		return nil, err
	}
	return redsyncClient{redsyncOn(clients), func() { closeRueidis(clients) }}, nil
}

// RedsyncOn returns a client of [SharedRedsync] on a client of [Redlock], whose
// connections it uses and leaves open.
func RedsyncOn(c Client) Client {
	return redsyncClient{redsyncOn(c.(fenceholdClient).below), func() {}}
}

func redsyncOn(clients []rueidis.Client) *redsync.Redsync {
	var pools []redsyncredis.Pool
	for _, client := range clients {
		pools = append(pools, redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client)))
	}
	return redsync.New(pools...)
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

// Attempt implements [Attempter].
func (c redsyncClient) Attempt(ctx context.Context, name string) (bool, error) {
	err := c.mutex(name, TTL).TryLockContext(ctx)
	if _, taken := errors.AsType[*redsync.ErrTaken](err); taken {
		return false, nil
	}
	return err == nil, err
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
