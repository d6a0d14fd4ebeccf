package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/bench/internal/figure"
	"github.com/fencehold/fencehold/bench/internal/peer"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// pollersSettle is how long waiters that poll have to begin, where nobody can
// tell whether they have.
const pollersSettle = 300 * time.Millisecond

// standard is what hand-overs are compared with, and what fencehold has to reach.
type standard struct {
	libraries []peer.Library // the first is the base
	where     string         // "", or where else than on one server
	median    string         // the goal
	drain     map[int]string // the goals by the number of waiters
}

// singleStandard is that on one server.
var singleStandard = standard{
	libraries: append([]peer.Library{peer.BLPop}, peer.Locks...), median: "ratio ≤ 2.0",
}

// handovers measures hand-overs on one server.
func (s *session) handovers(round int) error {
	return s.compareCrowds(round, s.scale.crowds, &singleStandard)
}

// compareCrowds measures how a lock goes through crowds of waiters.
func (s *session) compareCrowds(round int, sizes []int, standard *standard) error {
	for _, waiters := range sizes {
		for _, library := range standard.libraries {
			c := &crowd{session: s, standard: standard, library: library, waiters: waiters, epoch: time.Now()}
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
	standard *standard
	library  peer.Library
	waiters  int
	epoch    time.Time

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

// requests is how many all servers have been sent so far.
func (c *crowd) requests() int {
	sum := 0
	for _, server := range c.servers {
		sum += figure.Requests(server.Do("INFO", "commandstats"), c.library.Requests...)
	}
	return sum
}

// report adds the figures of all passes to the table.
func (c *crowd) report(draining time.Duration, passes, requests int) {
	title := fmt.Sprintf("hand-over%s, %d waiters: ", c.standard.where, c.waiters)
	figures := []struct {
		what, unit, goal string
		value            float64
	}{
		{"p50", "µs", c.standard.median, micros(figure.Quantile(c.delays, 0.5))},
		{"p99", "µs", "", micros(figure.Quantile(c.delays, 0.99))},
		{"drain", "/s", c.standard.drain[c.waiters], float64(len(c.delays)) / draining.Seconds()},
		{"requests for one holder", "", "", float64(requests) / float64(passes*(c.waiters+1))},
	}
	for _, f := range figures {
		m := measure{name: title + f.what, unit: f.unit, base: c.standard.libraries[0].Name, goal: f.goal}
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
	waits := func(server *testcluster.Redis) bool {
		return c.library.Waiting(func(command ...string) string { return server.Do(command...) }, name) == c.waiters
	}
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(c.servers, func(server *testcluster.Redis) bool { return !waits(server) }) {
			return
		}
	}
}

func (c *crowd) now() time.Duration { return time.Since(c.epoch) }
