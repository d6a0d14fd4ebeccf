package redlock_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// b61TTL is the TTL of the case, nodeLimit the time for one server that goes with it.
const (
	b61TTL    = 5 * time.Second
	nodeLimit = b61TTL / 10
)

// TestB61OneServerDown: what a minority does costs nobody anything. Servers that come
// back are TestDeadNodesAreBorne.
func TestB61OneServerDown(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testcluster.Proxy){
		"refuses": func(p *testcluster.Proxy) { p.Refuse(); p.Reset() },
		"drops":   (*testcluster.Proxy).Cut,
	} {
		for _, before := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " from the start", false: " later"}[before], func(t *testing.T) {
				t.Parallel()
				s := startSet(t, 3)
				cycle(t, opener(t, s.url(time.Minute)), "founding")
				proxies, url := s.proxied(t)
				if before {
					fail(proxies[1])
				}
				a := opener(t, url, fencehold.WithTTL(b61TTL))
				if !before {
					fail(proxies[1])
				}
				tenTimes(t, a)
			})
		}
	}
}

func TestB61UnknownHost(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	cycle(t, opener(t, s.url(time.Minute)), "founding")
	a := opener(t, "redlock://"+s[0].Addr()+","+s[1].Addr()+",no-such-host.invalid:6379", fencehold.WithTTL(b61TTL))
	tenTimes(t, a)
}

// tenTimes acquires, renews and releases, each in less time than one server has.
func tenTimes(t *testing.T, c *fencehold.Client) {
	t.Helper()
	var last fence.Token
	for i := range 10 {
		var lease *fencehold.Lease
		timed := func(what string, do func() error) {
			began := time.Now()
			if err := do(); err != nil {
				t.Fatalf("%s, the %dth time: %v", what, i, err)
			}
			// The slack is less than the limit, so that a wait for the server would show.
			within(t, what, time.Since(began), 100*time.Millisecond)
		}
		timed("acquire", func() (err error) {
			lease, err = c.Mutex(job).Acquire(bounded(t))
			return err
		})
		timed("renew", func() error { return lease.Extend(bounded(t), b61TTL) })
		timed("release", func() error { return lease.Release(bounded(t)) })
		if lease.Token() <= last {
			t.Fatalf("token %v after %v", lease.Token(), last)
		}
		last = lease.Token()
	}
}

// Errors that name the servers are TestMajorityDown, too.
func TestB61TwoServersDown(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testcluster.Proxy){
		"refuse": func(p *testcluster.Proxy) { p.Refuse(); p.Reset() },
		"drop":   (*testcluster.Proxy).Cut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSet(t, 3)
			proxies, url := s.proxied(t)
			a := opener(t, url, fencehold.WithTTL(b61TTL))
			cycle(t, a, "founding")
			fail(proxies[0])
			fail(proxies[1])
			for way, ask := range asking {
				began := time.Now()
				_, err := ask(a.Mutex(job), bounded(t))
				within(t, way, time.Since(began), nodeLimit+100*time.Millisecond)
				mustBe(t, err, fencehold.ErrUnavailable)
				for _, proxy := range proxies[:2] {
					if !strings.Contains(err.Error(), proxy.Addr()) {
						t.Errorf("%s: error %q does not name %s", way, err, proxy.Addr())
					}
				}
				s[2:].nothingLeft(t, 500*time.Millisecond)
			}
		})
	}
}

// TestB62FailedAttempt: what a failed attempt got is given back, also where the answer
// was lost. The same without a majority is TestRace01AttemptsOfWhichNoneHasAMajority.
func TestB62FailedAttempt(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	b := acquire(t, s.peer(t, fencehold.WithTTL(limit), fencehold.WithoutRenewal()).Client, job)
	s.everywhere(t, b)
	s[3].Do("DEL", jobKey)
	s[4].Do("DEL", jobKey)
	a := s.peer(t)
	a.proxies[3].SwallowReply(jobKey, 3) // the attempt, and two releases
	_, err := a.Mutex(job, fencehold.WithTTL(30*time.Second)).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	s[3:].nothingLeft(t, 500*time.Millisecond)
	s[3:].mustStayFree(t, 300*time.Millisecond)
	for i, server := range s[:3] {
		if !has(server, b.Fence().Holder) {
			t.Errorf("server %d has %q, want B's", i, value(server))
		}
	}
	release(t, b)
}

func TestB62FiveClientsCompete(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	clients := make([]*fencehold.Client, 5)
	for i := range clients {
		clients[i] = s.peer(t, fencehold.WithMaxWait(5*time.Second)).Client
	}
	var inside atomic.Int32
	turns := make([]int, len(clients))
	for range rounds(100) {
		began := time.Now()
		var work sync.WaitGroup
		for i, c := range clients {
			work.Go(func() {
				if turn(t, c, &inside) {
					turns[i]++
				}
			})
		}
		work.Wait()
		within(t, "a round", time.Since(began), 5*time.Second)
	}
	for i, n := range turns {
		if n != rounds(100) {
			t.Errorf("client %d had %d turns of %d", i, n, rounds(100))
		}
	}
	s.nothingLeft(t, time.Second)
}

// turn holds the lock for a moment, alone.
func turn(t *testing.T, c *fencehold.Client, inside *atomic.Int32) bool {
	lease, err := c.Mutex(job).Acquire(bounded(t))
	if err != nil {
		t.Errorf("a turn: %v", err)
		return false
	}
	if n := inside.Add(1); n != 1 {
		t.Errorf("%d holders at once", n)
	}
	for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
	}
	inside.Add(-1)
	if err := lease.Release(context.Background()); err != nil {
		t.Errorf("release: %v", err)
		return false
	}
	return true
}

func TestB63ExtendWithoutAMajority(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	a := s.peer(t, fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
	for _, row := range []struct {
		gone int
		want error
	}{{3, fencehold.ErrLost}, {2, nil}} {
		lease := acquire(t, a.Client, job)
		s.everywhere(t, lease)
		for _, server := range s[:row.gone] {
			server.Do("DEL", jobKey)
		}
		began := time.Now()
		err := lease.Extend(bounded(t), 2*time.Second)
		if row.want == nil {
			if err != nil {
				t.Errorf("deleted on %d of 5: %v", row.gone, err)
			}
			release(t, lease)
			continue
		}
		mustBe(t, err, row.want)
		s.nothingLeft(t, 500*time.Millisecond)
		within(t, "the loss and the cleaning up", time.Since(began), 600*time.Millisecond)
		if lease.Valid() {
			t.Error("still held")
		}
	}
}

func TestB63MajorityAnswersTooLate(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	for name, opts := range map[string][]fencehold.Option{
		"renewed": {}, "extended": {fencehold.WithoutRenewal()},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.peer(t, append(opts, fencehold.WithTTL(2*time.Second))...)
			lease := acquire(t, a.Client, job)
			for _, proxy := range a.proxies[1:4] {
				proxy.DelayReplies(2500 * time.Millisecond)
			}
			slow := time.Now() // the last success began before
			if err := lease.Extend(bounded(t), 2*time.Second); err == nil {
				t.Error("extended by two of five")
			}
			closes(t, "the loss", lease.Done(), time.Until(slow.Add(2*time.Second)))
			mustBe(t, lease.Err(), fencehold.ErrLost)
			for _, proxy := range a.proxies {
				proxy.DelayReplies(0)
			}
			s.nothingLeft(t, 3*time.Second)
		})
	}
}
