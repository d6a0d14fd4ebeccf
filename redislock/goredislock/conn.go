package goredislock

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/redislock"
)

// conn is a [redislock.Conn] on a go-redis client.
type conn struct {
	client  redis.UniversalClient // one of the following
	single  *redis.Client         // nil in front of a Cluster
	cluster *redis.ClusterClient  // nil otherwise
	mode    redislock.Mode
	late    late
}

// processor is a client as far as it sends single commands.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Mode implements [redislock.Conn].
func (c *conn) Mode() redislock.Mode { return c.mode }

// Close implements [redislock.Conn]. There is nothing to close: subscriptions
// have ended with their contexts, and the client is the caller's.
func (c *conn) Close() error { return nil }

// Eval implements [redislock.Conn].
func (c *conn) Eval(ctx context.Context, call redislock.Call) (string, error) {
	answer, err := c.send(ctx, call.Keys[0], evalsha(ctx, call))
	if isNoScript(err) {
		return c.send(ctx, call.Keys[0], eval(ctx, call))
	}
	return answer, err
}

// send runs a command on a key that is answered by one string.
func (c *conn) send(ctx context.Context, key string, cmd command) (string, error) {
	answer, err := inOrder(ctx, &c.late, key, func() (string, error) {
		_ = c.client.Process(ctx, cmd) // the command keeps the error
		return c.textOf(cmd)
	})
	c.suspect(ctx, err)
	return answer, err
}

// textOf reads a reply that is one string.
func (c *conn) textOf(cmd command) (string, error) {
	text, err := cmd.Text()
	return text, c.serverErrorOf(err)
}

// EvalMany implements [redislock.Conn] by a pipeline, and by a second one for
// the scripts that a server does not have. What is done many times at once is
// renewing and looking, which may come late.
func (c *conn) EvalMany(ctx context.Context, calls []redislock.Call) {
	all := make([]*redislock.Call, len(calls))
	for i := range calls {
		all[i] = &calls[i]
	}
	var pipes sync.WaitGroup
	for _, calls := range c.byNode(ctx, all) {
		pipes.Go(func() {
			c.pipe(ctx, calls, evalsha)
			c.pipe(ctx, slices.DeleteFunc(calls, func(call *redislock.Call) bool { return !isNoScript(call.Err) }), eval)
		})
	}
	pipes.Wait()
}

// byNode puts together what one node answers: one that is silent must not take
// the answers of the others along.
func (c *conn) byNode(ctx context.Context, all []*redislock.Call) map[string][]*redislock.Call {
	nodes := map[string][]*redislock.Call{}
	for _, call := range all {
		addr := ""
		if client, err := c.primaryOf(ctx, call.Keys[0]); err == nil {
			addr = client.Options().Addr
		}
		nodes[addr] = append(nodes[addr], call)
	}
	return nodes
}

// pipe runs scripts in one pipeline, in a Cluster one for each node.
func (c *conn) pipe(ctx context.Context, calls []*redislock.Call, build builder) {
	if len(calls) == 0 {
		return
	}
	commands := make([]command, len(calls))
	for i, call := range calls {
		commands[i] = build(ctx, *call)
	}
	_, err := bounded(ctx, func() (struct{}, error) {
		pipe := c.client.Pipeline()
		for _, cmd := range commands {
			_ = pipe.Process(ctx, cmd) // puts it into the pipeline
		}
		_, _ = pipe.Exec(ctx) // each command keeps its own error
		return struct{}{}, nil
	})
	for i, call := range calls {
		if err != nil {
			// The commands are still being written to.
			call.Answer, call.Err = "", err
			continue
		}
		call.Answer, call.Err = c.textOf(commands[i])
	}
	c.suspect(ctx, calls[0].Err)
}

// Primaries implements [redislock.Conn].
func (c *conn) Primaries(ctx context.Context, use func(addr string, do redislock.Do) error) error {
	clients, err := c.primaries(ctx)
	if err != nil {
		return err
	}
	for _, client := range clients {
		if err := use(client.Options().Addr, doOn(client)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// primaries returns the clients of all primaries, by address. What a client of
// a Cluster knows is fetched anew.
func (c *conn) primaries(ctx context.Context) ([]*redis.Client, error) {
	if c.cluster == nil {
		return []*redis.Client{c.single}, nil
	}
	return bounded(ctx, func() ([]*redis.Client, error) {
		var mu sync.Mutex
		var clients []*redis.Client
		err := c.cluster.ForEachMaster(ctx, func(_ context.Context, client *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			clients = append(clients, client)
			return nil
		})
		slices.SortFunc(clients, func(a, b *redis.Client) int { return cmp.Compare(a.Options().Addr, b.Options().Addr) })
		return clients, serverError(err)
	})
}

// doOn returns a function that sends one command by a client.
func doOn(client processor) redislock.Do {
	return func(ctx context.Context, args ...string) (any, error) {
		list := make([]any, len(args))
		for i, arg := range args {
			list[i] = arg
		}
		cmd := newCommand(ctx, list...)
		return bounded(ctx, func() (any, error) {
			err := client.Process(ctx, cmd)
			return cmd.Val(), serverError(err)
		})
	}
}

// primaryOf returns a client of the primary that has the slot of a key.
func (c *conn) primaryOf(ctx context.Context, key string) (*redis.Client, error) {
	if c.cluster == nil {
		return c.single, nil
	}
	return bounded(ctx, func() (*redis.Client, error) {
		client, err := c.cluster.MasterForKey(ctx, key)
		return client, serverError(err)
	})
}
