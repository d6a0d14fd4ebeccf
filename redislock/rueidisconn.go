package redislock

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// rueidisConn is a [Conn] on a rueidis client.
type rueidisConn struct {
	client rueidis.Client
	owned  bool // closed with the backend
}

// NewRueidisConn returns a [Conn] on a client of the caller, which stays the
// caller's: closing the Conn does not close it.
func NewRueidisConn(client rueidis.Client) Conn { return &rueidisConn{client: client} }

// Mode implements [Conn].
func (c *rueidisConn) Mode() Mode {
	switch c.client.Mode() {
	case rueidis.ClientModeCluster:
		return Cluster
	case rueidis.ClientModeSentinel:
		return Sentinel
	default:
		return Single
	}
}

// Close implements [Conn].
func (c *rueidisConn) Close() error {
	if c.owned {
		c.client.Close()
	}
	return nil
}

// Eval implements [Conn]. rueidis repeats no request that writes.
func (c *rueidisConn) Eval(ctx context.Context, call Call) (string, error) {
	answer, err := textOf(c.client.Do(ctx, evalsha(c.client.B(), call)))
	if isNoScript(err) {
		return textOf(c.client.Do(ctx, eval(c.client.B(), call)))
	}
	return answer, err
}

func evalsha(b rueidis.Builder, call Call) rueidis.Completed {
	return b.Evalsha().Sha1(call.Script.SHA1()).Numkeys(int64(len(call.Keys))).Key(call.Keys...).Arg(call.Args...).Build()
}

func eval(b rueidis.Builder, call Call) rueidis.Completed {
	return b.Eval().Script(call.Script.Source()).Numkeys(int64(len(call.Keys))).Key(call.Keys...).Arg(call.Args...).Build()
}

// EvalMany implements [Conn].
func (c *rueidisConn) EvalMany(ctx context.Context, calls []Call) {
	commands := make([]rueidis.Completed, len(calls))
	for i, call := range calls {
		commands[i] = evalsha(c.client.B(), call)
	}
	for i, result := range c.client.DoMulti(ctx, commands...) {
		calls[i].Answer, calls[i].Err = textOf(result)
		if isNoScript(calls[i].Err) {
			calls[i].Answer, calls[i].Err = c.Eval(ctx, calls[i])
		}
	}
}

// EvalWait implements [Conn], on a connection that nobody else uses meanwhile:
// WAIT would hold up everybody's requests.
func (c *rueidisConn) EvalWait(ctx context.Context, call Call, replicas int, limit time.Duration) (string, int, error) {
	client, release := c.client.Dedicate()
	defer release()
	for _, build := range []func(rueidis.Builder, Call) rueidis.Completed{evalsha, eval} {
		results := client.DoMulti(ctx, build(client.B(), call),
			client.B().Wait().Numreplicas(int64(replicas)).Timeout(limit.Milliseconds()).Build())
		answer, err := textOf(results[0])
		if isNoScript(err) {
			continue
		}
		if err != nil {
			return answer, 0, err
		}
		confirmed, err := results[1].AsInt64()
		return answer, int(confirmed), serverError(err)
	}
	return "", 0, errors.New("the server does not keep the script that it was sent")
}

// Subscribe implements [Conn].
func (c *rueidisConn) Subscribe(ctx context.Context, s Subscription) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var confirmed atomic.Int32
	confirm := func(p rueidis.PubSubSubscription) {
		if p.Kind != "subscribe" && p.Kind != "ssubscribe" {
			return
		}
		switch n := int(confirmed.Add(1)); {
		case n == len(s.Channels):
			s.Ready()
		case n > len(s.Channels):
			// The client has lost the connection and subscribed again by
			// itself: what was published meanwhile is lost.
			cancel(errSubscribedAgain)
		}
	}
	var err error
	if c.Mode() == Cluster {
		err = c.receive(rueidis.WithOnSubscriptionHook(ctx, confirm), s)
	} else {
		err = c.attend(ctx, s, confirm)
	}
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err == nil:
		return errUnsubscribed
	}
	return serverError(err)
}

// receive listens on the connection that commands use too: the nodes of a
// Cluster and the slots in which a client waits are many.
func (c *rueidisConn) receive(ctx context.Context, s Subscription) error {
	return c.client.Receive(ctx, c.subscribe(s), func(m rueidis.PubSubMessage) { s.Message(m.Message) })
}

// attend listens on a connection of its own, where nothing comes between a
// message and the wait that it is for.
func (c *rueidisConn) attend(ctx context.Context, s Subscription, confirm func(rueidis.PubSubSubscription)) error {
	client, release := c.client.Dedicate()
	defer release()
	lost := client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { s.Message(m.Message) },
		OnSubscription: confirm,
	})
	if err := client.Do(ctx, c.subscribe(s)).Error(); err != nil {
		return err
	}
	select {
	case err := <-lost:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	errSubscribedAgain = errors.New("subscription was interrupted")
	errUnsubscribed    = errors.New("subscription was ended by the server")
)

func (c *rueidisConn) subscribe(s Subscription) rueidis.Completed {
	if s.Sharded {
		return c.client.B().Ssubscribe().Channel(s.Channels...).Build()
	}
	return c.client.B().Subscribe().Channel(s.Channels...).Build()
}

// Primaries implements [Conn].
func (c *rueidisConn) Primaries(ctx context.Context, use func(addr string, do Do) error) error {
	for addr, node := range c.client.Nodes() {
		do := func(ctx context.Context, args ...string) (any, error) {
			v, err := node.Do(ctx, node.B().Arbitrary(args...).Build()).ToAny()
			return v, serverError(err)
		}
		if primary, err := isPrimary(ctx, do); err != nil || !primary {
			if err != nil {
				return err
			}
			continue
		}
		if err := use(addr, do); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// isPrimary asks a node for its role.
func isPrimary(ctx context.Context, do Do) (bool, error) {
	reply, err := do(ctx, "ROLE")
	if _, answered := errors.AsType[ServerError](err); answered {
		return true, nil // the user may not ask: what is a replica will say so
	}
	if err != nil {
		return false, err
	}
	parts, _ := reply.([]any)
	return len(parts) > 0 && parts[0] != "slave", nil
}

// textOf reads a reply that is one string.
func textOf(result rueidis.RedisResult) (string, error) {
	s, err := result.ToString()
	return s, serverError(err)
}

// serverError marks what the server answered.
func serverError(err error) error { return refusal.OfClient(err) }

func isNoScript(err error) bool {
	answered, ok := errors.AsType[ServerError](err)
	return ok && strings.HasPrefix(string(answered), "NOSCRIPT")
}
