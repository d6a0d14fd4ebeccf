package peer

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// SharedRaw is the bound for a free lock: SET NX PX and a script that compares
// and deletes, on the very client of rueidis that fencehold uses; see [RawOn].
// Raw is the same on a client of its own: as nobody subscribes there, rueidis
// reads and writes in the goroutine that asks, as long as only one does. They
// do not wait.
var (
	SharedRaw = Library{Name: "raw SET + EVALSHA"}
	Raw       = Library{Name: "raw, a client without subscriptions", Open: openRaw}
)

// RawOn returns a client of [SharedRaw] on a client of [Fencehold], whose
// connections it uses and leaves open.
func RawOn(c Client) Client { return sharedClient{rawClient{c.(fenceholdClient).below[0]}} }

// sharedClient does not close what belongs to another.
type sharedClient struct{ rawClient }

// Close implements [Client].
func (sharedClient) Close() {}

// rueidisOption is how all clients of rueidis are set: with one connection, as
// fencehold sets those that it opens by URL.
func rueidisOption(addr string) rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress: []string{addr}, ForceSingleClient: true, PipelineMultiplex: -1,
		ReadBufferEachConn: 64 << 10, WriteBufferEachConn: 64 << 10, DisableCache: true, DisableRetry: true,
	}
}

// openRueidis opens a client for each server.
func openRueidis(addrs []string) ([]rueidis.Client, error) {
	var clients []rueidis.Client
	for _, addr := range addrs {
		client, err := rueidis.NewClient(rueidisOption(addr))
		if err != nil {
			closeRueidis(clients)
			return nil, err
		}
		clients = append(clients, client)
	}
	return clients, nil
}

func closeRueidis(clients []rueidis.Client) {
	for _, client := range clients {
		client.Close()
	}
}

// compareAndDelete deletes a key that has the given value.
var compareAndDelete = rueidis.NewLuaScript(
	`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// rawValue is what all raw locks hold: there is one holder at a time.
const rawValue = "a value as long as most"

type rawClient struct{ client rueidis.Client }

func openRaw(addrs ...string) (Client, error) {
	client, err := rueidis.NewClient(rueidisOption(addrs[0]))
	return rawClient{client}, err
}

// Acquire implements [Client], but fails if the lock is held.
func (c rawClient) Acquire(ctx context.Context, name string) (func() error, error) {
	err := c.Abandon(ctx, name, TTL)
	return func() error {
		return compareAndDelete.Exec(ctx, c.client, []string{name}, []string{rawValue}).Error()
	}, err
}

// Abandon implements [Client].
func (c rawClient) Abandon(ctx context.Context, name string, ttl time.Duration) error {
	return c.client.Do(ctx, c.client.B().Set().Key(name).Value(rawValue).Nx().Px(ttl).Build()).Error()
}

// Close implements [Client].
func (c rawClient) Close() { c.client.Close() }
