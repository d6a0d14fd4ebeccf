package goredislock

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/redislock"
)

// maxRedirections is how often a script that replicas have to confirm follows
// MOVED and ASK.
const maxRedirections = 4

// EvalWait implements [redislock.Conn]. While a slot moves to a node that has
// no slot yet, a client of go-redis cannot be had for that node: the error is
// TRYAGAIN then, and nothing was done.
func (c *conn) EvalWait(
	ctx context.Context, call redislock.Call, replicas int, limit time.Duration,
) (string, int, error) {
	// The command is built by who may outlast this call.
	call.Keys, call.Args = slices.Clone(call.Keys), slices.Clone(call.Args)
	w := waiting{call: call, replicas: replicas, limit: limit}
	for _, w.build = range []builder{evalsha, eval} {
		answer, confirmed, err := c.follow(ctx, w)
		if !isNoScript(err) {
			c.suspect(ctx, err)
			return answer, confirmed, err
		}
	}
	return "", 0, errForgetful
}

// waiting is a script that is followed by WAIT.
type waiting struct {
	call     redislock.Call
	build    builder
	replicas int
	limit    time.Duration // milliseconds at least
	asking   bool          // sent because of ASK
}

// confirmation is what came of it.
type confirmation struct {
	answer    string
	confirmed int
}

// follow sends a script to the primary of its keys, and to wherever that
// points.
func (c *conn) follow(ctx context.Context, w waiting) (string, int, error) {
	client, err := c.primaryOf(ctx, w.call.Keys[0])
	for range maxRedirections {
		if err != nil {
			return "", 0, err
		}
		var got confirmation
		got, err = inOrder(ctx, &c.late, w.call.Keys[0], func() (confirmation, error) { return w.send(ctx, client) })
		addr, redirected := c.redirection(err, &w)
		if !redirected {
			return got.answer, got.confirmed, serverError(err)
		}
		client, err = c.nodeAt(ctx, addr)
	}
	return "", 0, redislock.ServerError("TRYAGAIN redirected too often")
}

// redirection tells where an error points, and has ASK answered as it wants.
func (c *conn) redirection(err error, w *waiting) (addr string, ok bool) {
	if err == nil || c.cluster == nil {
		return "", false
	}
	if addr, w.asking = redis.IsAskError(err); w.asking {
		return addr, true
	}
	return redis.IsMovedError(err)
}

// nodeAt returns the client of the primary at an address.
func (c *conn) nodeAt(ctx context.Context, addr string) (*redis.Client, error) {
	clients, err := c.primaries(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(clients, func(client *redis.Client) bool { return client.Options().Addr == addr })
	if i < 0 {
		return nil, redislock.ServerError("TRYAGAIN the slot is at " + addr + ", which has no slot yet")
	}
	return clients[i], nil
}

// send runs the script and WAIT in one pipeline, which is one connection: on
// another one WAIT would count the replicas that have seen nothing.
func (w waiting) send(ctx context.Context, client *redis.Client) (confirmation, error) {
	if read := client.Options().ReadTimeout; read > 0 {
		client = client.WithTimeout(read + w.limit)
	}
	pipe := client.Pipeline()
	if w.asking {
		_ = pipe.Process(ctx, newCommand(ctx, "asking"))
	}
	script := w.build(ctx, w.call)
	wait := newCommand(ctx, "wait", w.replicas, w.limit.Milliseconds())
	_ = pipe.Process(ctx, script) // puts it into the pipeline
	_ = pipe.Process(ctx, wait)
	_, _ = pipe.Exec(ctx) // each command keeps its own error
	answer, err := script.Text()
	if err != nil {
		return confirmation{}, err
	}
	confirmed, err := wait.Int()
	return confirmation{answer, confirmed}, err
}
