package goredislock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/redislock"
)

// A subscription is pinged every pingEvery, and given up when nothing was heard
// at maxSilent pings.
const (
	pingEvery = time.Second
	maxSilent = 3
)

// dead is a context that has ended. A [redis.PubSub] that has lost its
// connection makes another one by itself, and does not say so; with this
// context it cannot. Reading and writing know no context but its deadline, and
// this one has none.
var dead = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()

// Subscribe implements [redislock.Conn], on a connection of its own. A
// connection that is open and silent is found out within maxSilent+1 pings.
func (c *conn) Subscribe(ctx context.Context, s redislock.Subscription) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	err := c.listen(ctx, end, s)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case c.cluster != nil:
		// The slot may be somewhere else.
		c.cluster.ReloadState(ctx)
	}
	return err
}

// listen listens until the connection is lost or ctx ends. end ends it.
func (c *conn) listen(ctx context.Context, end context.CancelCauseFunc, s redislock.Subscription) error {
	client, err := c.primaryOf(ctx, s.Channels[0])
	if err != nil {
		return err
	}
	pubsub, err := bounded(ctx, func() (*redis.PubSub, error) { return open(ctx, client, s) })
	if err != nil {
		return serverError(err)
	}
	var heard atomic.Bool
	go watch(ctx, pubsub, &heard, end)
	return receive(pubsub, &heard, s) //nolint:contextcheck // see dead
}

// open connects and sends the subscription. The connection is closed when ctx
// ends, also if that is while it is being made.
func open(ctx context.Context, client *redis.Client, s redislock.Subscription) (*redis.PubSub, error) {
	pubsub := client.Subscribe(ctx)
	context.AfterFunc(ctx, func() { _ = pubsub.Close() })
	if s.Sharded {
		return pubsub, pubsub.SSubscribe(ctx, s.Channels...)
	}
	return pubsub, pubsub.Subscribe(ctx, s.Channels...)
}

// receive passes on what comes in, up to the first error.
func receive(pubsub *redis.PubSub, heard *atomic.Bool, s redislock.Subscription) error {
	missing := len(s.Channels)
	for {
		received, err := pubsub.Receive(dead)
		if err != nil {
			return serverError(err)
		}
		heard.Store(true)
		switch m := received.(type) {
		case *redis.Message:
			s.Message(m.Payload)
		case *redis.Subscription:
			missing--
			switch {
			case m.Kind != "subscribe" && m.Kind != "ssubscribe":
				return errUnsubscribed
			case missing < 0:
				return errAgain
			case missing == 0:
				s.Ready()
			}
		}
	}
}

// watch sends pings, and ends a subscription that has fallen silent.
func watch(ctx context.Context, pubsub *redis.PubSub, heard *atomic.Bool, end context.CancelCauseFunc) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for silent := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		silent++
		if heard.Swap(false) {
			silent = 0
		}
		if silent == maxSilent {
			end(errSilent)
			return
		}
		if err := pubsub.Ping(dead); err != nil { //nolint:contextcheck // see dead
			end(err)
			return
		}
	}
}
