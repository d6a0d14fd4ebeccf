//go:build unix

package redislock_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

func TestB37ReleasedBeforeTheSubscription(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]func(*tap) *testcluster.Hold{
		"request":      func(p *tap) *testcluster.Hold { return p.HoldRequests("SUBSCRIBE") },
		"confirmation": func(p *tap) *testcluster.Hold { return p.HoldReplies("subscribe") },
	} {
		t.Run(name, func(t *testing.T) {
			server := testcluster.StartRedis(t)
			p := newTap(t, server)
			lease := acquire(t, openClient(t, server.URL(), fencehold.WithTTL(limit)), "job")
			hold := delay(p)
			next := startAcquire(t, p.client(t), "job", fencehold.WithMaxWait(10*time.Second))
			closes(t, "the subscription is held", hold.Seen(), time.Second)
			time.AfterFunc(300*time.Millisecond, hold.Release)
			time.Sleep(100 * time.Millisecond)
			released := time.Now()
			release(t, lease)
			got := next.lease(t)
			within(t, "the grant after the release", time.Since(released), 500*time.Millisecond)
			release(t, got)
		})
	}
}

func TestB37ReleasedAtAnyMoment(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(limit))
	var waits []time.Duration
	for range rounds(500) {
		lease := acquire(t, a, "job")
		// A client of its own has not subscribed yet.
		b := openClient(t, server.URL(), fencehold.WithTTL(limit))
		next := startAcquire(t, b, "job", fencehold.WithMaxWait(10*time.Second))
		time.Sleep(rand.N(3 * time.Millisecond))
		released := time.Now()
		release(t, lease)
		got := next.lease(t)
		waits = append(waits, time.Since(released))
		release(t, got)
		b.Close()
	}
	slices.Sort(waits)
	within(t, "99 of 100 hand-overs", waits[len(waits)*99/100-1], 100*time.Millisecond)
	within(t, "the slowest hand-over", waits[len(waits)-1], time.Second)
}

func TestB38SubscriptionIsKilled(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	lease := acquire(t, openClient(t, server.URL(), fencehold.WithTTL(limit)), "job")
	b := openClient(t, server.URL())
	next := startAcquire(t, b, "job", fencehold.WithMaxWait(20*time.Second))
	awaitWaiters(t, b, "job", 1)
	var both sync.WaitGroup
	both.Go(func() { server.Do("CLIENT", "KILL", "TYPE", "pubsub") })
	both.Go(func() { _ = lease.Release(context.Background()) }) // its connection may be one of those
	released := time.Now()
	both.Wait()
	got := next.lease(t)
	within(t, "the grant after the release", time.Since(released), 2*time.Second)
	release(t, got)
}

func TestB38HolderIsKilled(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := startChild(t, "hold", "redis://"+p.Addr(), "job", "1s")
	a.line("held")
	next := startAcquire(t, openClient(t, server.URL()), "job", fencehold.WithMaxWait(10*time.Second))
	eventually(t, "a renewal", func() bool { return p.count("renew") > 0 })
	a.kill()
	last := lastBefore(t, p, "renew", time.Now())
	got := next.lease(t)
	if took := time.Since(last); took < 990*time.Millisecond || took > 1500*time.Millisecond+slack {
		t.Errorf("granted %v after the last renewal", took)
	}
	release(t, got)
}

func TestB39DeadWaiters(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(limit))
	lease := acquire(t, a, "job")
	const ttl = 3 * time.Second
	dead := startChild(t, "wait", server.URL(), "job", ttl.String(), "20")
	dead.line("waiting")
	awaitWaiters(t, a, "job", 20)
	dead.kill()
	killed := time.Now()
	c := openClient(t, server.URL(), fencehold.WithTTL(ttl))
	next := startAcquire(t, c, "job")
	awaitWaiters(t, a, "job", 21)
	for time.Since(killed) < 3*time.Second {
		time.Sleep(10 * time.Millisecond) // as the case has it
	}
	released := time.Now()
	release(t, lease)
	got := next.lease(t)
	within(t, "the hand-over past 20 dead waiters", time.Since(released), 2*time.Second)
	release(t, got)
	if n := exists(server, "lock:fh!q:job"); n != "0" {
		t.Errorf("in line: %s", server.Do("ZRANGE", "lock:fh!q:job", "0", "-1"))
	}
	eventually(t, "no key of a waiter is left", func() bool {
		return strings.Join(strings.Fields(server.Do("KEYS", "*")), " ") == counterKey
	})
	within(t, "a sign of life after the last wait", time.Since(released), ttl)
}

// A turn is one visit of the critical section.
type turn struct{ who int }

// compete has a greedy client and 20 waiters take turns; it returns who had the
// lock, in order, with -1 for the greedy one, and in which order they queued.
func compete(t *testing.T, server *testcluster.Redis, opts ...fencehold.Option) (turns []turn, took time.Duration) {
	t.Helper()
	greedy := openClient(t, server.URL(), append(opts, fencehold.WithTTL(limit))...)
	held := acquire(t, greedy, "job")
	var waiting sync.WaitGroup
	visit := func(who int, lease *fencehold.Lease) {
		turns = append(turns, turn{who}) // the lock guards it
		time.Sleep(time.Millisecond)     // the work
		if err := lease.Release(context.Background()); err != nil {
			t.Error(err)
		}
	}
	for i := range 20 {
		c := openClient(t, server.URL(), append(opts, fencehold.WithTTL(limit), fencehold.WithMaxWait(10*time.Second))...)
		waiting.Go(func() {
			lease, err := c.Mutex("job").Acquire(context.Background())
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
				return
			}
			visit(i, lease)
		})
		awaitWaiters(t, greedy, "job", i+1)
	}
	done := make(chan struct{})
	began := time.Now()
	release(t, held)
	go func() {
		waiting.Wait()
		close(done)
	}()
	for {
		select {
		case <-done:
			return turns, time.Since(began)
		default:
			visit(-1, acquire(t, greedy, "job"))
		}
	}
}

func TestB41NobodyStarves(t *testing.T) {
	t.Parallel()
	turns, took := compete(t, testcluster.StartRedis(t))
	within(t, "20 turns", took, 2*time.Second)
	next, greedy := 0, 0
	for _, turn := range turns {
		switch {
		case turn.who == next:
			next, greedy = next+1, 0
		case turn.who >= 0:
			t.Errorf("waiter %d came before %d", turn.who, next)
		default:
			if greedy++; greedy > 1 && next < 20 {
				t.Errorf("the greedy client had %d turns before waiter %d", greedy, next)
			}
		}
	}
}

func TestB41BargingStarvesNobody(t *testing.T) {
	t.Parallel()
	_, took := compete(t, testcluster.StartRedis(t), fencehold.WithBarging())
	within(t, "20 turns", took, 10*time.Second)
}

// Counted is what a release sets off: signs of life, of which each client gives
// one a second, have nothing to do with it.
func TestB41NoHerd(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := openClient(t, server.URL())
	lease := acquire(t, p.client(t, fencehold.WithTTL(limit)), "job")
	ctx, cancel := context.WithCancel(t.Context())
	granted := make(chan *fencehold.Lease, 100)
	var waiting sync.WaitGroup
	for range 100 {
		c := p.client(t, fencehold.WithTTL(limit), fencehold.WithoutRenewal())
		waiting.Go(func() {
			if lease, err := c.Mutex("job").Acquire(ctx); err == nil {
				granted <- lease
			}
		})
	}
	awaitWaiters(t, a, "job", 100)
	for range 5 {
		pings, before, released := p.count("ping"), p.count(""), time.Now()
		release(t, lease)
		lease = <-granted
		for time.Since(released) < 100*time.Millisecond {
			time.Sleep(time.Millisecond)
		}
		if n := p.count("") - before - (p.count("ping") - pings); n > 10 {
			t.Errorf("%d requests in the 100ms after a release", n)
		}
	}
	if n, most := p.count("ping"), 100*(1+int(time.Since(p.all("")[0].at)/time.Second)); n > most {
		t.Errorf("%d signs of life of 100 clients, want %d at most", n, most)
	}
	cancel()
	release(t, lease)
	waiting.Wait()
}
