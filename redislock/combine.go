package redislock

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// A combiner sends simple requests together while others are under way: many
// goroutines that take and release locks of their own then cost the server one
// script for all of them, and the client one message. What turns out not to be
// simple is asked again on its own.
//
// The script does one after the other what the scripts acquire and release do
// with a lock that nobody waits for, so nothing new can come between.
type combiner struct {
	b *backend

	mu      sync.Mutex
	flights int // requests that are under way
	queue   []*order
	rescue  *time.Timer
	closed  bool
}

// maxFlights is how many requests are under way before others are gathered: one
// that the server works on, and one on its way to it. Who was gathered goes after
// maxGather in any case: the others may be on a connection that has died.
// maxOrders bounds how long one script takes, at some microseconds each.
const (
	maxFlights = 2
	maxGather  = 20 * time.Millisecond
	maxOrders  = 64
)

// combines reports whether requests may be sent together: they are of one slot,
// and no replica has to confirm them.
func (b *backend) combines() bool { return b.conn.Mode() != Cluster && b.opts.MinReplicas == 0 }

// simple reports whether a request on a lock may go with others.
func (b *backend) simple(k *known) bool { return b.combines() && b.memory.calm(k) }

// gather has a request go with others, or returns nil: then the caller makes it
// alone and says when it has landed.
func (c *combiner) gather(k *known, holder, ttl, meta string) *order {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.flights < maxFlights {
		c.flights++
		return nil
	}
	o := &order{known: k, holder: holder, ttl: ttl, meta: meta, done: make(chan struct{})}
	if c.queue = append(c.queue, o); len(c.queue) > 1 {
		return o
	}
	if c.rescue == nil {
		c.rescue = time.AfterFunc(maxGather, c.impatient)
	} else {
		c.rescue.Reset(maxGather)
	}
	return o
}

// landed says that a request has ended. Those that were gathered meanwhile go
// next.
func (c *combiner) landed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flights--
	for len(c.queue) > 0 && c.flights < maxFlights {
		c.depart()
	}
}

// impatient sends what was gathered although others are still under way.
func (c *combiner) impatient() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		c.depart()
	}
}

// depart sends some of what was gathered. The caller holds c.mu, and nothing is
// gathered once the backend is being closed, which waits for what was sent.
func (c *combiner) depart() {
	n := min(len(c.queue), maxOrders)
	orders := c.queue[:n:n]
	if c.queue = c.queue[n:]; len(c.queue) == 0 {
		c.queue = nil
		c.rescue.Stop()
	} else {
		c.rescue.Reset(maxGather)
	}
	c.flights++
	c.b.work.Go(func() { c.send(orders) })
}

// close ends gathering. Who was gathered and not yet sent is told so; requests
// that come later are made alone.
func (c *combiner) close() {
	c.mu.Lock()
	orders := c.queue
	c.queue, c.closed = nil, true
	if c.rescue != nil {
		c.rescue.Stop()
	}
	c.mu.Unlock()
	for _, o := range orders {
		o.deliver(0, fencehold.ErrClosed)
	}
}

// send makes one request of those orders that still make sense, and gives each
// its answer before anything that takes time.
func (c *combiner) send(orders []*order) {
	orders = slices.DeleteFunc(orders, (*order).pointless)
	ctx, cancel := context.WithTimeout(c.b.life, answerLimit)
	defer cancel()
	text, err := c.ask(ctx, orders)
	c.landed()
	err = c.failure(err)
	for _, o := range orders {
		var answer string
		answer, text, _ = strings.Cut(text, "\n")
		if o.settle(answer, err) {
			c.b.work.Go(func() { c.giveBack(c.b.life, o) })
		}
	}
}

// ask returns the script's answer to all; of nothing there is no request.
func (c *combiner) ask(ctx context.Context, orders []*order) (string, error) {
	if len(orders) == 0 {
		return "", nil
	}
	keys, args := make([]string, 1, 1+2*len(orders)), make([]string, 0, 3*len(orders))
	keys[0] = orders[0].known.keys.counter
	sent := driver.Now()
	for _, o := range orders {
		o.sent = sent
		keys = append(keys, o.known.keys.lock, o.known.keys.line)
		args = append(args, o.holder, o.ttl, o.meta)
	}
	return c.b.conn.Eval(ctx, Call{Script: manyScript, Keys: keys, Args: args})
}

// failure is the error of a whole request as each order in it sees it. What the
// server refuses for good may be the fault of one, of whose name the user may
// have no right to: each is asked again alone. The script refuses before it
// changes anything.
func (c *combiner) failure(err error) error {
	named := explain(err)
	switch {
	case err == nil:
		return nil
	case !refusal.Answered(err) && c.b.life.Err() != nil:
		return fencehold.ErrClosed
	case !refusal.Answered(err), passes(named), code(named) == "OOM", code(named) == "MISCONF":
		return named
	}
	return errNotSimple
}

// giveBack does what is left to do for an order whose caller has gone: it
// returns a grant that may have come, or makes the release that was not simple.
// If that fails, the grant ends with its TTL.
func (c *combiner) giveBack(ctx context.Context, o *order) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, _ = c.b.release(ctx, o.known.name, o.holder, "", 0)
}

// grantOf makes a grant of an order that was answered with a token.
func (b *backend) grantOf(o *order, ttl time.Duration) driver.Grant {
	return b.granted(o.known.name, o.holder, o.sent, answer{token: o.token, ttl: ttl.Truncate(time.Millisecond)})
}
