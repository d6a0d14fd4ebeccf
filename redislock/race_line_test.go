package redislock_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

// The lock is released between the answer "busy" and the request to join: that
// request is answered with the grant, and nobody asks again.
func TestRace01ReleasedBeforeJoining(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	proxy := r.proxy()
	var checks atomic.Int32
	proxy.OnRequest(func(request []byte) {
		if strings.Contains(string(request), checking) {
			checks.Add(1)
		}
	})
	join := r.keepsBack(proxy.HoldRequests(joining))
	waiter := r.wait(r.client(proxy.Addr()))
	r.seen(join, "the request to join")
	r.release(holder)
	before := checks.Load() // a new subscription asks for one
	join.Release()
	lease := waiter.granted(soon, "the lock was free before the request was there")
	if n := checks.Load() - before; n != 0 {
		t.Errorf("asked %d times more for a lock that was free", n)
	}
	r.ordered(holder, lease)
}

// Nobody stands in line before the subscription is confirmed.
func TestRace02PublishBeforeSubscribe(t *testing.T) {
	r := newRace(t)
	ask, listen := r.proxy(), r.proxy()
	var joined atomic.Bool
	ask.OnRequest(func(request []byte) {
		if strings.Contains(string(request), joining) {
			joined.Store(true)
		}
	})
	holder := r.hold(r.direct())
	for _, what := range []string{"request", "answer"} {
		joined.Store(false)
		hold := listen.HoldRequests
		if what == "answer" {
			hold = listen.HoldReplies
		}
		subscribe := r.keepsBack(hold("fh!i"))
		waiter := r.wait(r.onConn(r.split(ask.Addr(), listen.Addr())))
		r.seen(subscribe, "the "+what+" to subscribing")
		for range 20 {
			// What is published now reaches nobody.
			r.release(holder)
			holder = r.hold(r.direct())
		}
		if joined.Load() || r.line() != nil {
			t.Errorf("joined while the %s to subscribing was on its way", what)
		}
		subscribe.Release()
		r.lined(1)
		r.release(holder)
		holder = waiter.granted(soon, "subscribed at last")
	}
}

// Whoever is not subscribed is passed over, and keeps the place.
func TestRace02NobodySubscribedIsPassedOver(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	absent, _, listen := r.apart()
	waiters := r.queue(absent, r.direct())
	first := r.line()[0]
	again := r.keepsBack(listen.HoldRequests("fh!i"))
	listen.Reset()
	r.seen(again, "the new subscription")
	r.release(holder)
	second := waiters[1].granted(soon, "the only one who listens")
	if line := r.line(); len(line) != 1 || line[0] != first {
		t.Errorf("line %q, want %q to have kept the place", line, first)
	}
	waiters[0].waits("not subscribed")
	again.Release()
	r.listening(3)
	r.release(second)
	r.ordered(holder, second, waiters[0].granted(soon, "subscribed again"))
}

// listening waits until n inboxes have a subscriber; a holder has one too.
func (r *race) listening(n int) {
	r.Helper()
	r.eventually(soon, strconv.Itoa(n)+" who listen", func() bool {
		return len(strings.Fields(r.server.Do("PUBSUB", "CHANNELS", "lock:fh!i*"))) == n
	})
}

// The grant is pushed before the answer to joining has come.
func TestRace03PushOvertakesTheAnswer(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	client, ask, listen := r.apart()
	answer := r.keepsBack(ask.HoldReplies("\nW "))
	waiter := r.wait(client)
	r.seen(answer, "the answer to joining")
	push := r.keepsBack(listen.HoldReplies(pushing))
	r.release(holder)
	r.seen(push, "the grant")
	push.Release()
	waiter.waits("nothing is known of the server yet")
	answer.Release()
	lease := waiter.granted(soon, "granted before the answer")
	r.covered(lease)
	r.ordered(holder, lease)
}

// A newcomer who finds the lock free behind a line does not get it.
func TestRace16NewcomerMeetsALine(t *testing.T) {
	for what, ask := range map[string]func(*race, *fencehold.Client){
		"try": func(r *race, c *fencehold.Client) {
			if lease, err := c.Mutex(job).TryAcquire(r.Context()); err == nil {
				r.Errorf("past the line: %v", lease.Fence())
			}
		},
		"acquire": func(r *race, c *fencehold.Client) { r.wait(c) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRace(t)
			r.hold(r.direct(fencehold.WithoutRenewal()))
			waiters := r.queue(r.direct(), r.direct())
			r.server.Do("DEL", jobKey) // as if it had expired: nobody is told
			ask(r, r.direct())
			first := waiters[0].granted(soon, "the front, when a newcomer asks")
			waiters[1].waits("the second in line")
			r.release(first)
			r.ordered(first, waiters[1].granted(soon, "the second in line"))
		})
	}
}

// Twenty who died in line cost the next one nothing, and the line is rid of
// them once their signs of life are over.
func TestRace11DeadWaiters(t *testing.T) {
	const dead = 20
	r := newRace(t)
	holder := r.hold(r.direct())
	proxy := r.proxy()
	var clients []*fencehold.Client
	for range dead {
		clients = append(clients, r.client(proxy.Addr()))
	}
	r.queue(clients...)
	r.Cleanup(proxy.Heal)
	last := r.queue(r.direct())[0]
	proxy.Refuse()
	proxy.Reset()
	r.listening(2) // the holder, and one who waits
	r.release(holder)
	lease := last.granted(soon, "the only one alive")
	if n := len(r.line()); n != dead {
		t.Errorf("%d in line, want the %d whose signs of life have not expired", n, dead)
	}
	r.ordered(holder, lease)
	next := r.queue(r.direct())[0]
	r.eventually(hang, "one sign of life is left", func() bool {
		return len(strings.Fields(r.server.Do("KEYS", "lock:fh!p:*"))) == 1
	})
	r.release(lease)
	r.ordered(lease, next.granted(soon, "behind the dead"))
	if line := r.line(); line != nil {
		t.Errorf("still in line: %q", line)
	}
}

// A waiter who is stopped, while its connection stands, costs the short time
// of a pushed grant.
func TestRace12PausedWaiter(t *testing.T) {
	const short = time.Second // the TTL and the time of a pushed grant
	r := newRace(t)
	holder := r.hold(r.direct())
	proxy := r.proxy()
	paused := r.queue(r.client(proxy.Addr(), fencehold.WithTTL(short)))[0]
	next := r.queue(r.direct())[0]
	front := r.line()[0]
	proxy.Cut()
	r.Cleanup(proxy.Heal)
	r.release(holder)
	released := time.Now()
	if value := r.value(); holderOf(value) != holderOf(front) {
		t.Fatalf("the lock is %q, want it to be of %q", value, front)
	}
	lease := next.granted(short+busy+soon, "behind one who is stopped")
	if took := time.Since(released); took > short+busy {
		t.Errorf("one who is stopped cost %v", took)
	}
	proxy.Heal()
	r.lined(1) // the one who was stopped has found out, and is in line again
	paused.waits("the lock is somebody else's")
	r.covered(lease)
	r.release(lease)
	r.ordered(lease, paused.granted(soon, "after the pause"))
}
