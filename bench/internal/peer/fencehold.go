package peer

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock"
)

// Fencehold is this project.
var Fencehold = Library{
	Name: "fencehold", Open: openFencehold,
	Requests: []string{"evalsha", "eval", "subscribe", "unsubscribe"},
	Waiting: func(ask func(...string) string, name string) int {
		n, _ := strconv.Atoi(ask("ZCARD", "lock:fh!q:"+name))
		return n
	},
}

type fenceholdClient struct {
	client  *fencehold.Client
	rueidis rueidis.Client
}

func openFencehold(addr string) (Client, error) {
	below, err := rueidis.NewClient(rueidisOption(addr))
	if err != nil {
		return nil, err
	}
	backend, err := redislock.New(below, nil)
	if err != nil {
		return nil, err
	}
	client, err := fencehold.New(backend, fencehold.WithTTL(TTL))
	return fenceholdClient{client, below}, err
}

// Acquire implements [Client].
func (c fenceholdClient) Acquire(ctx context.Context, name string) (func() error, error) {
	lease, err := c.client.Mutex(name).Acquire(ctx)
	return func() error { return lease.Release(ctx) }, err
}

// Abandon implements [Client].
func (c fenceholdClient) Abandon(ctx context.Context, name string, ttl time.Duration) error {
	_, err := c.client.Mutex(name, fencehold.WithTTL(ttl), fencehold.WithoutRenewal()).Acquire(ctx)
	return err
}

// Close implements [Client].
func (c fenceholdClient) Close() {
	_ = c.client.Close()
	c.rueidis.Close()
}
