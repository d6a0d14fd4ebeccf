package redislock_test

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// splitConn is a Conn that listens on another connection than it asks on, as
// most clients for Redis do: answers and pushes can overtake each other.
type splitConn struct {
	redislock.Conn
	inbox atomic.Pointer[redislock.Conn]
	asked func(redislock.Call) // told of each call before it is sent; nil: nobody
	// deaf keeps a subscription for as long as it is open, whatever its context
	// says; nil ends it at once.
	deaf <-chan struct{}
}

// Eval implements [redislock.Conn].
func (c *splitConn) Eval(ctx context.Context, call redislock.Call) (string, error) {
	if c.asked != nil {
		c.asked(call)
	}
	return c.Conn.Eval(ctx, call)
}

// Subscribe implements [redislock.Conn].
func (c *splitConn) Subscribe(ctx context.Context, s redislock.Subscription) error {
	if c.deaf == nil {
		return (*c.inbox.Load()).Subscribe(ctx, s)
	}
	stubborn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		<-c.deaf
		cancel()
	})
	defer stop()
	return (*c.inbox.Load()).Subscribe(stubborn, s)
}

// plug opens a connection to an address, closed with the test.
func (r *race) plug(addr string) redislock.Conn {
	r.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, ForceSingleClient: true,
		DisableRetry: true, DisableCache: true, PipelineMultiplex: -1,
		ReadBufferEachConn: 32 << 10, WriteBufferEachConn: 32 << 10,
	})
	if err != nil {
		r.Fatal(err)
	}
	conn := redislock.ConnOf(client)
	r.Cleanup(func() { conn.Close() })
	return conn
}

// split returns a Conn that asks at one address and listens at another.
func (r *race) split(ask, listen string) *splitConn {
	r.Helper()
	c := &splitConn{Conn: r.plug(ask)}
	inbox := r.plug(listen)
	c.inbox.Store(&inbox)
	return c
}

// apart opens a client that asks through one proxy and listens through the
// other.
func (r *race) apart(opts ...fencehold.Option) (c *fencehold.Client, ask, listen *testcluster.Proxy) {
	r.Helper()
	ask, listen = r.proxy(), r.proxy()
	return r.onConn(r.split(ask.Addr(), listen.Addr()), opts...), ask, listen
}

// onConn opens a client on a Conn.
func (r *race) onConn(conn redislock.Conn, opts ...fencehold.Option) *fencehold.Client {
	r.Helper()
	backend, err := redislock.NewConn(conn, nil)
	if err != nil {
		r.Fatal(err)
	}
	return r.on(backend, opts...)
}
