package peer

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// Fencehold is this project on one server, and Redlock on a set of them.
var (
	Fencehold = Library{
		Name: "fencehold", Prefix: redislock.DefaultPrefix, Open: openFencehold,
		Requests: []string{"evalsha", "eval", "subscribe", "unsubscribe"}, Waiting: lengthOf("lock:fh!q:"),
	}
	Redlock = Library{
		Name: "fencehold", Prefix: redlock.DefaultPrefix, Open: openRedlock,
		Requests: []string{"evalsha", "eval", "subscribe", "unsubscribe"}, Waiting: lengthOf("lock:fh!r:"),
	}
)

// lengthOf returns how many are in the line whose key is prefix and the name.
func lengthOf(prefix string) func(func(...string) string, string) int {
	return func(ask func(...string) string, name string) int {
		n, _ := strconv.Atoi(ask("ZCARD", prefix+name))
		return n
	}
}

// fenceholdClient is a client of fencehold on clients of rueidis that are its own.
type fenceholdClient struct {
	client *fencehold.Client
	below  []rueidis.Client
}

func openFencehold(addrs ...string) (Client, error) {
	return openOn(addrs[:1], func(below []rueidis.Client) (driver.Backend, error) { return redislock.New(below[0], nil) })
}

func openRedlock(addrs ...string) (Client, error) {
	return openOn(addrs, func(below []rueidis.Client) (driver.Backend, error) { return redlock.New(below, nil) })
}

// openOn opens clients of rueidis, and one of fencehold on the backend on them.
func openOn(addrs []string, backendOf func([]rueidis.Client) (driver.Backend, error)) (Client, error) {
	below, err := openRueidis(addrs)
	if err != nil {
		return nil, err
	}
	backend, err := backendOf(below)
	if err != nil {
		closeRueidis(below)
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

// Attempt implements [Attempter].
func (c fenceholdClient) Attempt(ctx context.Context, name string) (bool, error) {
	_, err := c.client.Mutex(name).TryAcquire(ctx)
	if errors.Is(err, fencehold.ErrHeld) {
		return false, nil
	}
	return err == nil, err
}

// Abandon implements [Client].
func (c fenceholdClient) Abandon(ctx context.Context, name string, ttl time.Duration) error {
	_, err := c.client.Mutex(name, fencehold.WithTTL(ttl), fencehold.WithoutRenewal()).Acquire(ctx)
	return err
}

// Close implements [Client].
func (c fenceholdClient) Close() {
	_ = c.client.Close()
	closeRueidis(c.below)
}
