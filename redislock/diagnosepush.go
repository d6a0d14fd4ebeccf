package redislock

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// pushLimit is how long a published message may take.
const pushLimit = 2 * time.Second

// inbox is the channel on which a waiter of a trial would listen.
func (e *examination) inbox(t trial) string { return e.kin() + "i" + e.tag + ":" + t.client }

// checkPush tries the two channels of a client: that of grants, and that of
// revocations, which is an ordinary one in a Cluster too.
func (e *examination) checkPush(ctx context.Context) {
	if !e.served() {
		return
	}
	t, sharded := e.newTrial(), e.b.conn.Mode() == Cluster
	e.tryPush(ctx, e.inbox(t), sharded, "grants", "waiting is polling")
	e.tryPush(ctx, e.kin()+"l:"+t.client, false, "revocations", "a holder learns of one with its next renewal")
}

// tryPush listens to a channel and publishes there. without says what is the
// case where that does not work.
func (e *examination) tryPush(ctx context.Context, channel string, sharded bool, what, without string) {
	if e.err != nil {
		return
	}
	took, err := e.push(ctx, channel, sharded)
	switch {
	case ctx.Err() != nil:
		e.err = ctx.Err()
	case err != nil:
		e.found(driver.GradeWarning, "push", "%s cannot be pushed, so %s: %v", what, without, explain(err))
	default:
		e.found(driver.GradeGood, "push", "%s are pushed within %v", what, fine(took))
	}
}

// errNoPush is the error where nothing was refused, and nothing came.
var errNoPush = errors.New("a published message did not come")

// push returns how long a message took from here and back to here. It asks for
// the number of subscribers too, because a hand-over does.
func (e *examination) push(ctx context.Context, channel string, sharded bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pushLimit, errNoPush)
	defer cancel()
	ready, heard, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	hear := sync.OnceFunc(func() { close(heard) })
	subscription := Subscription{
		Channels: []string{channel}, Sharded: sharded,
		Ready:   sync.OnceFunc(func() { close(ready) }),
		Message: func(string) { hear() },
	}
	var ended error // when done
	go func() {
		defer close(done)
		ended = e.b.conn.Subscribe(ctx, subscription)
	}()
	select {
	case <-ready:
	case <-done:
		return 0, cmp.Or(context.Cause(ctx), ended)
	}
	defer func() {
		cancel()
		<-done
	}()
	sent := time.Now()
	if err := e.publish(ctx, channel, sharded); err != nil {
		return 0, err
	}
	select {
	case <-heard:
		return time.Since(sent), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// publish sends a message, after the question that a hand-over asks first.
// Subscribers of an ordinary channel in a Cluster are not counted by it.
func (e *examination) publish(ctx context.Context, channel string, sharded bool) error {
	count, publish := "NUMSUB", "PUBLISH"
	if sharded {
		count, publish = "SHARDNUMSUB", "SPUBLISH"
	}
	if sharded || e.b.conn.Mode() != Cluster {
		if _, refused := e.ask(ctx, "PUBSUB", count, channel); refused != nil {
			return refused
		}
	}
	_, refused := e.ask(ctx, publish, channel, "trial")
	return refused
}
