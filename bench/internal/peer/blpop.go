package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// BLPop is the bound for a hand-over: a token in a list that holders push and
// waiters pop. It is no lock: nothing expires.
var BLPop = Library{
	Name: "raw BLPOP token", Open: openBLPop, Requests: []string{"lpush", "blpop"},
	Waiting: func(ask func(...string) string, _ string) int {
		_, rest, _ := strings.Cut(ask("INFO", "clients"), "\nblocked_clients:")
		var n int
		_, _ = fmt.Sscan(rest, &n)
		return n
	},
}

type blpopClient struct{ client rueidis.Client }

func openBLPop(addrs ...string) (Client, error) {
	client, err := rueidis.NewClient(rueidisOption(addrs[0]))
	return blpopClient{client}, err
}

// Acquire implements [Client]. Who comes first makes the token, and has it.
func (c blpopClient) Acquire(ctx context.Context, name string) (func() error, error) {
	release := func() error {
		return c.client.Do(ctx, c.client.B().Lpush().Key(name).Element("token").Build()).Error()
	}
	err := c.client.Do(ctx, c.client.B().Set().Key(name+":made").Value("1").Nx().Build()).Error()
	if rueidis.IsRedisNil(err) {
		err = c.client.Do(ctx, c.client.B().Blpop().Key(name).Timeout(0).Build()).Error()
	}
	return release, err
}

// Abandon implements [Client]: it cannot.
func (c blpopClient) Abandon(context.Context, string, time.Duration) error {
	return errors.ErrUnsupported
}

// Close implements [Client].
func (c blpopClient) Close() { c.client.Close() }
