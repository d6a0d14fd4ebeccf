package peer

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// BSM is bsm/redislock with a linear back-off of 50 ms.
var BSM = Library{Name: "bsm/redislock", Open: openBSM, Requests: []string{"evalsha", "eval"}}

type bsmClient struct {
	client *redis.Client
	locks  *redislock.Client
}

func openBSM(addrs ...string) (Client, error) {
	client := redis.NewClient(&redis.Options{Addr: addrs[0]})
	return bsmClient{client, redislock.New(client)}, nil
}

// Acquire implements [Client].
func (c bsmClient) Acquire(ctx context.Context, name string) (func() error, error) {
	lock, err := c.obtain(ctx, name, TTL)
	return func() error { return lock.Release(ctx) }, err
}

// Abandon implements [Client].
func (c bsmClient) Abandon(ctx context.Context, name string, ttl time.Duration) error {
	_, err := c.obtain(ctx, name, ttl)
	return err
}

func (c bsmClient) obtain(ctx context.Context, name string, ttl time.Duration) (*redislock.Lock, error) {
	return c.locks.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(retryEvery)})
}

// Close implements [Client].
func (c bsmClient) Close() { _ = c.client.Close() }
