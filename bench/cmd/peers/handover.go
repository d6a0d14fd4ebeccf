package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/bench/internal/figure"
	"github.com/fencehold/fencehold/bench/internal/peer"
)

// pollersSettle is how long waiters that poll have to begin, where nobody can
// tell whether they have.
const pollersSettle = 300 * time.Millisecond

// handovers measures how a lock goes through a crowd of waiters.
func (s *session) handovers(round int) error {
	for _, waiters := range s.scale.crowds {
		for _, library := range append([]peer.Library{peer.BLPop}, peer.Locks...) {
			c := &crowd{session: s, library: library, waiters: waiters, epoch: time.Now()}
			if err := c.measure(round); err != nil {
				return fmt.Errorf("%s, %d waiters: %w", library.Name, waiters, err)
			}
		}
	}
	return nil
}

// crowd is many clients of one library that wait for one lock, each with its
// own connections. In one pass each of them gets the lock once.
type crowd struct {
	*session
	library peer.Library
	waiters int
	epoch   time.Time

	clients  []peer.Client
	released atomic.Int64 // when the last release was called, since epoch

	mu     sync.Mutex
	delays []time.Duration // from such a call to the next holder
	errs   []error
}

// measure makes as many passes as there is time for.
func (c *crowd) measure(round int) error {
	crowds := make([]peer.Library, c.waiters+1)
	for i := range crowds {
		crowds[i] = c.library
	}
	var err error
	if c.clients, err = c.openAll(crowds); err != nil {
		return err
	}
	defer closeAll(c.clients)
	if err := c.warmUp(round); err != nil {
		return err
	}
	before := c.requests()
	var draining time.Duration
	passes := c.passes()
	for pass := range passes {
		took, err := c.pass(fmt.Sprintf("crowd %s %d-%d-%d", c.library.Name, c.waiters, round, pass))
		if err != nil {
			return err
		}
		draining += took
	}
	c.report(draining, passes, c.requests()-before)
	return nil
}

// warmUp makes one pass that is not measured: who waits for the first time has
// to subscribe.
func (c *crowd) warmUp(round int) error {
	if c.library.Waiting == nil {
		return nil
	}
	_, err := c.pass(fmt.Sprintf("crowd %s %d-%d", c.library.Name, c.waiters, round))
	c.delays = nil
	return err
}

// passes is few for those that poll: they take their time.
func (c *crowd) passes() int {
	if c.library.Waiting == nil {
		return max(1, min(16, c.scale.handovers)/c.waiters)
	}
	return max(2, c.scale.handovers/c.waiters)
}

func (c *crowd) requests() int {
	return figure.Requests(c.server.Do("INFO", "commandstats"), c.library.Requests...)
}

// report adds the figures of all passes to the table.
func (c *crowd) report(draining time.Duration, passes, requests int) {
	title := fmt.Sprintf("hand-over, %d waiters: ", c.waiters)
	figures := []struct {
		what, unit, goal string
		value            float64
	}{
		{"p50", "µs", "ratio ≤ 2.0", micros(figure.Quantile(c.delays, 0.5))},
		{"p99", "µs", "", micros(figure.Quantile(c.delays, 0.99))},
		{"drain", "/s", "", float64(len(c.delays)) / draining.Seconds()},
		{"requests for one holder", "", "", float64(requests) / float64(passes*(c.waiters+1))},
	}
	for _, f := range figures {
		m := measure{name: title + f.what, unit: f.unit, base: peer.BLPop.Name, goal: f.goal}
		c.table.add(m, c.library.Name, f.value)
	}
}

// pass holds the lock until everybody waits, and returns how long it takes
// from the release until everybody had it.
func (c *crowd) pass(name string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	release, err := c.clients[0].Acquire(ctx, name)
	if err != nil {
		return 0, err
	}
	var waiting sync.WaitGroup
	for _, client := range c.clients[1:] {
		waiting.Go(func() { c.wait(ctx, client, name) })
	}
	c.settle(name)
	began := c.now()
	c.released.Store(int64(began))
	err = release()
	waiting.Wait()
	return c.now() - began, errors.Join(append(c.errs, err)...)
}

// wait gets the lock, notes the delay, and releases it.
func (c *crowd) wait(ctx context.Context, client peer.Client, name string) {
	release, err := client.Acquire(ctx, name)
	got := c.now()
	delay := got - time.Duration(c.released.Load())
	if err == nil {
		c.released.Store(int64(c.now()))
		err = release()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	c.delays = append(c.delays, delay)
}

// settle waits until all waiters wait.
func (c *crowd) settle(name string) {
	if c.library.Waiting == nil {
		time.Sleep(pollersSettle)
		return
	}
	ask := func(command ...string) string { return c.server.Do(command...) }
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if c.library.Waiting(ask, name) == c.waiters {
			return
		}
	}
}

func (c *crowd) now() time.Duration { return time.Since(c.epoch) }
