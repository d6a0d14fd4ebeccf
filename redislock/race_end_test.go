package redislock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock"
)

// A wait is cancelled at a random moment around its grant: nothing is left
// behind, neither in the line nor of the lock.
func TestRace08CancelMeetsGrant(t *testing.T) {
	const rounds = 200
	r := newRace(t)
	holding, waiting := r.direct(), r.direct()
	granted := 0
	for range rounds {
		holder := r.hold(holding)
		waiter := r.queue(waiting)[0]
		var cancelled sync.WaitGroup
		cancelled.Go(func() {
			<-time.After(rand.N(3 * time.Millisecond))
			waiter.cancel()
		})
		<-time.After(rand.N(time.Millisecond))
		r.release(holder)
		cancelled.Wait()
		waiter.leaves()
		if waiter.err == nil {
			granted++
		}
		r.empty()
	}
	if granted == 0 || granted == rounds {
		t.Errorf("%d of %d were granted: they did not meet", granted, rounds)
	}
}

// A wait is cancelled long before its turn: it leaves the line at once.
func TestRace08CancelledInLine(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	waiters := r.queue(r.direct(), r.direct(), r.direct(), r.direct())
	line := r.line()
	for _, i := range []int{0, 2} {
		waiters[i].leaves()
	}
	r.eventually(soon, "two have left the line", func() bool {
		return slices.Equal(r.line(), []string{line[1], line[3]})
	})
	r.release(holder)
	first := waiters[1].granted(soon, "behind one who has left")
	r.release(first)
	r.ordered(holder, first, waiters[3].granted(soon, "behind another who has left"))
}

// The grant is on its way when the wait is cancelled.
func TestRace08CancelMeetsPush(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	client, _, listen := r.apart()
	waiters := r.queue(client, r.direct())
	push := r.keepsBack(listen.HoldReplies(pushing))
	r.release(holder)
	r.seen(push, "the grant")
	waiters[0].leaves()
	if waiters[0].err == nil {
		t.Error("granted although the push was kept back")
	}
	r.ordered(holder, waiters[1].granted(soon, "the one behind has the lock now"))
	push.Release()
	if line := r.line(); line != nil {
		t.Errorf("still in line: %q", line)
	}
}

// The answer to a release is lost, and somebody else has the lock when it is
// repeated.
func TestRace09LostAnswerToRelease(t *testing.T) {
	r := newRace(t)
	proxy := r.proxy()
	holder := r.hold(r.client(proxy.Addr()))
	waiter := r.queue(r.direct())[0]
	var releases atomic.Int32
	proxy.OnRequest(func(request []byte) {
		if strings.Contains(string(request), releasing) {
			releases.Add(1)
		}
	})
	proxy.SwallowReply(releasing, 1)
	r.release(holder)
	if n := releases.Load(); n != 2 {
		t.Errorf("%d releases, want one and its repetition", n)
	}
	lease := waiter.granted(soon, "released")
	r.covered(lease)
	if !lease.Valid() || r.value() == "" {
		t.Errorf("the repeated release took it away: %v, the lock is %q", lease.Err(), r.value())
	}
	r.release(lease)
	r.empty()
}

// The request to join is under way when the caller gives up.
func TestRace10LateRequest(t *testing.T) {
	for what, free := range map[string]bool{"held": false, "free": true} {
		t.Run(what, func(t *testing.T) {
			r := newRace(t)
			holder := r.hold(r.direct())
			proxy := r.proxy()
			join := r.keepsBack(proxy.HoldRequests(joining))
			waiter := r.wait(r.client(proxy.Addr()))
			r.seen(join, "the request to join")
			waiter.leaves()
			if free {
				r.release(holder)
			}
			join.Release()
			if !free {
				r.release(holder)
			}
			r.empty()
		})
	}
}

// A copy of a request to join is executed when the caller has left and all is
// undone: what it brings is given back as soon as it comes.
func TestRace10LateCopy(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	var copied atomic.Pointer[redislock.Call]
	conn := r.split(r.server.Addr(), r.server.Addr())
	conn.asked = func(call redislock.Call) {
		if len(call.Args) > 3 && call.Args[3] == "wait" {
			copied.Store(&call)
		}
	}
	client := r.onConn(conn)
	r.queue(client)[0].leaves()
	r.lined(0)
	// The ghost answers for as long as its client waits for something there.
	if _, err := conn.Conn.Eval(r.Context(), *copied.Load()); err != nil {
		t.Fatal(err)
	}
	r.lined(1)
	next := r.queue(r.direct())[0]
	r.release(holder)
	lease := next.granted(soon, "behind a ghost")
	r.ordered(holder, lease)
	r.release(lease)
	r.empty()
}

// The holder has died: the front has the lock when its time is over, the others
// not before.
func TestRace13DeadHolder(t *testing.T) {
	r := newRace(t)
	proxy := r.proxy()
	holder := r.hold(r.client(proxy.Addr(), fencehold.WithTTL(brief)))
	waiters := r.queue(r.direct(), r.direct(), r.direct())
	proxy.Cut()
	r.Cleanup(proxy.Heal)
	asked := time.Now()
	over := asked.Add(r.left()) // at the latest a millisecond and an answer later
	first := waiters[0].granted(brief+soon, "the holder is dead")
	late := time.Since(over)
	if late > 50*time.Millisecond+busy {
		t.Errorf("granted %v after the end of the dead holder's time", late)
	}
	if late < 0 || holder.Valid() {
		t.Errorf("granted %v after the end of the dead holder's time; it believes: %v", late, holder.Err())
	}
	r.covered(first)
	waiters[1].waits("the second in line")
	r.release(first)
	second := waiters[1].granted(soon, "the second in line")
	r.ordered(holder, first, second)
}

// Every request but releases is executed twice.
func TestRace24EveryRequestIsRepeated(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.repeating())
	if last := r.server.Do("GET", jobCounter); last != holder.Token().String() {
		t.Errorf("token %v, and the counter is %s", holder.Token(), last)
	}
	r.covered(holder)
	waiters := r.queue(r.repeating(), r.repeating())
	for range 3 {
		if err := holder.Extend(r.Context(), brief); err != nil {
			t.Fatal(err)
		}
		r.covered(holder)
	}
	r.release(holder)
	first := waiters[0].granted(brief/2+busy, "first in line")
	waiters[1].waits("second in line")
	r.covered(first)
	r.release(first)
	second := waiters[1].granted(brief/2+busy, "second in line")
	r.ordered(holder, first, second)
	r.release(second)
	r.empty()
}

// repeating opens a client whose requests are executed twice, but for releases.
func (r *race) repeating() *fencehold.Client {
	r.Helper()
	conn := r.split(r.server.Addr(), r.server.Addr())
	conn.asked = func(call redislock.Call) {
		if call.Script.SHA1() == releasing {
			return
		}
		if _, err := conn.Conn.Eval(context.Background(), call); err != nil {
			r.Error(err)
		}
	}
	return r.onConn(conn, fencehold.WithTTL(brief))
}

// The answer to an attempt is lost: the repetition is answered from what stands,
// and mints nothing.
func TestRace24LostAnswerToTry(t *testing.T) {
	r := newRace(t)
	proxy := r.proxy()
	client := r.client(proxy.Addr())
	proxy.SwallowReply("\r\ntry\r\n", 1)
	lease, err := client.Mutex(job).TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last := r.server.Do("GET", jobCounter); last != lease.Token().String() {
		t.Errorf("token %v, and the counter is %s", lease.Token(), last)
	}
	r.covered(lease)
}

// The answer to joining is lost: the repetition keeps the place.
func TestRace24LostAnswerToJoining(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	proxy := r.proxy()
	proxy.SwallowReply(joining, 1)
	waiter := r.wait(r.client(proxy.Addr()))
	r.lined(1)
	next := r.queue(r.direct())[0]
	r.listening(3)
	r.release(holder)
	lease := waiter.granted(soon, "in line since the request whose answer was lost")
	r.lined(1)
	r.release(lease)
	r.ordered(holder, lease, next.granted(soon, "behind it"))
}

// The answer to a renewal is lost: the next one counts.
func TestRace24LostAnswerToRenewal(t *testing.T) {
	r := newRace(t)
	proxy := r.proxy()
	lease := r.hold(r.client(proxy.Addr(), fencehold.WithTTL(2*brief)))
	token := lease.Token()
	proxy.SwallowReply(renewing, 1)
	end := lease.Expires().Add(brief)
	r.eventually(hang, "renewed past a lost answer", func() bool {
		r.covered(lease)
		return lease.Expires().After(end)
	})
	if lease.Token() != token || !lease.Valid() {
		t.Errorf("token %v after %v: %v", lease.Token(), token, lease.Err())
	}
}

// A release is not repeated by the client for Redis: that would take a lock
// from whoever has it by now if it did not compare, and hide the outcome.
func TestRace24ReleaseIsSentOnce(t *testing.T) {
	r := newRace(t)
	proxy := r.proxy()
	backend := openBackend(t, "redis://"+proxy.Addr())
	defer backend.Close()
	lease := r.hold(r.direct())
	var releases atomic.Int32
	proxy.OnRequest(func(request []byte) {
		if strings.Contains(string(request), releasing) {
			releases.Add(1)
		}
	})
	proxy.SwallowReply(releasing, 1)
	grant := grantOf(lease)
	if err := backend.Release(r.Context(), grant, 0); err == nil || errors.Is(err, fencehold.ErrLost) {
		t.Errorf("a release whose answer is lost: %v, want an unknown outcome", err)
	}
	if n := releases.Load(); n != 1 {
		t.Errorf("sent %d times", n)
	}
	if err := backend.Release(r.Context(), grant, 0); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("the second release: %v, want that it is not the holder's", err)
	}
}
