package redislock

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/record"
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

// errNotSimple says that a request has to be made on its own.
var errNotSimple = errors.New("not simple")

// An order is one acquire or release among others.
type order struct {
	known  *known
	holder string
	ttl    string // empty for a release
	meta   string

	answer string
	sent   driver.Instant
	err    error
	done   chan struct{}

	mu   sync.Mutex
	left bool // nobody waits for the answer any more
	over bool // it has come
}

// combines reports whether requests may be sent together: they are of one slot,
// and no replica has to confirm them.
func (b *backend) combines() bool { return b.conn.Mode() != Cluster && b.opts.MinReplicas == 0 }

// gather has a request go with others, or returns nil: then the caller makes it
// alone and says when it has landed.
func (c *combiner) gather(k *known, holder, ttl, meta string) *order {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights < maxFlights {
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

// depart sends some of what was gathered. The caller holds c.mu.
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

// wait waits for the answer to an order that was gathered.
func (o *order) wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		if o.leave() {
			return ctx.Err()
		}
		return o.err
	}
}

// leave gives the answer up; false if it has come.
func (o *order) leave() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = !o.over
	return o.left
}

// deliver hands the answer over; false if nobody waits for it.
func (o *order) deliver(answer string, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer, o.err, o.over = answer, err, true
	close(o.done)
	return !o.left
}

// send makes one request of some orders.
func (c *combiner) send(orders []*order) {
	keys, args := make([]string, 1, 1+2*len(orders)), make([]string, 0, 3*len(orders))
	keys[0] = orders[0].known.keys.counter
	sent := driver.Now()
	for _, o := range orders {
		o.sent = sent
		keys = append(keys, o.known.keys.lock, o.known.keys.line)
		args = append(args, o.holder, o.ttl, o.meta)
	}
	ctx, cancel := context.WithTimeout(c.b.life, answerLimit)
	defer cancel()
	text, err := c.b.conn.Eval(ctx, Call{Script: manyScript, Keys: keys, Args: args})
	c.landed()
	for _, o := range orders {
		var answer string
		answer, text, _ = strings.Cut(text, "\n")
		c.settle(o, answer, err)
	}
}

// settle gives an order its answer. A grant that nobody waits for any more is
// given back: the release of who left may have been there before it.
func (c *combiner) settle(o *order, answer string, err error) {
	reason, failed := strings.CutPrefix(answer, "E ")
	switch {
	case err != nil:
		err = explain(ofContext(c.b.life, err))
	case failed:
		err = explain(ServerError(reason))
	case answer == "-":
		err = errNotSimple
	}
	if o.deliver(answer, err) || o.ttl == "" || err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.b.life, answerLimit)
	defer cancel()
	_, _ = c.b.release(ctx, o.known.name, o.holder, "", 0) // else it ends with its TTL
}

// grantOf makes a grant of an order that was answered with a token.
func (b *backend) grantOf(o *order, ttl time.Duration) driver.Grant {
	token, _ := record.ParseToken(o.answer)
	return b.granted(o.known.name, o.holder, o.sent, answer{token: token, ttl: ttl.Truncate(time.Millisecond)})
}

// simple reports whether a request on a lock may go with others.
func (b *backend) simple(k *known) bool { return b.combines() && b.memory.calm(k) }
