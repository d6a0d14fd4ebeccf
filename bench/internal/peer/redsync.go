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
// clients of rueidis that fencehold uses; see [RedsyncOn]. Of several servers all of
// them wait for all answers, but for RedsyncFailFast, which is RedsyncRueidis with the
// option that returns as soon as a majority has answered.
var (
	Redsync        = Library{Name: "redsync, go-redis", Open: openRedsync, Requests: []string{"set", "evalsha", "eval"}}
	RedsyncRueidis = Library{
		Name: "redsync, rueidis", Open: openRedsyncRueidis, Requests: []string{"set", "evalsha", "eval"},
	}
	RedsyncFailFast = Library{Name: "redsync, rueidis, fail fast", Open: openRedsyncFailFast}
	SharedRedsync   = Library{Name: "redsync, fencehold's rueidis"}
)

type redsyncClient struct {
	factory *redsync.Redsync
	close   func()
	options []redsync.Option // beside those that all have
}

func openRedsync(addrs ...string) (Client, error) {
	var clients []*redis.Client
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		clients, pools = append(clients, client), append(pools, goredis.NewPool(client))
	}
	return redsyncClient{factory: redsync.New(pools...), close: func() {
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
	return redsyncClient{factory: redsyncOn(clients), close: func() { closeRueidis(clients) }}, nil
}

func openRedsyncFailFast(addrs ...string) (Client, error) {
	c, err := openRedsyncRueidis(addrs...)
	if err != nil {
		return nil, err
	}
	fast := c.(redsyncClient)
	fast.options = []redsync.Option{redsync.WithFailFast(true)}
	return fast, nil
}

// RedsyncOn returns a client of [SharedRedsync] on a client of [Redlock], whose
// connections it uses and leaves open.
func RedsyncOn(c Client) Client {
	return redsyncClient{factory: redsyncOn(c.(fenceholdClient).below), close: func() {}}
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
	options := []redsync.Option{redsync.WithExpiry(ttl), redsync.WithTries(1_000_000)}
	return c.factory.NewMutex(name, append(options, c.options...)...)
}

// Close implements [Client].
func (c redsyncClient) Close() { c.close() }
