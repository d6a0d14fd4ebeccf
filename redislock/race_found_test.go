package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// These were found by breaking the backend, and each failed before it was
// mended.

// inboxes waits until some clients listen.
func (r *race) inboxes(n int) {
	r.Helper()
	r.eventually(hang, "inboxes", func() bool {
		return len(strings.Fields(r.server.Do("PUBSUB", "CHANNELS", "*fh!i*"))) >= n
	})
}

// servedWithin fails unless a wait is granted in time.
func (r *race) servedWithin(limit time.Duration, w *waiter) {
	r.Helper()
	w.granted(limit, "the waiter")
}

func TestFoundBlankInThePrefix(t *testing.T) {
	r := newRace(t)
	url := r.server.Addr() + "?prefix=my%20app:"
	held := r.hold(r.client(url))
	w := r.wait(r.client(url))
	r.eventually(hang, "in line", func() bool { return r.server.Do("ZCARD", "my app:fh!q:job") == "1" })
	r.release(held)
	r.servedWithin(soon, w)
}

// The answer to joining is lost, the repeated request is granted by its answer,
// and the push of that grant comes late: it is that of the lease, and not of a
// wait that was given up.
func TestFoundPushOfARepeatedRequest(t *testing.T) {
	for _, late := range []bool{true, false} {
		t.Run(fmt.Sprintf("late=%v", late), func(t *testing.T) {
			r := newRace(t)
			p := r.proxy()
			a, b := r.direct(), r.client(p.Addr())
			r.release(r.hold(b)) // begins to listen
			r.inboxes(1)
			for range 5 {
				r.repeated(a, b, p, late)
			}
		})
	}
}

func (r *race) repeated(a, b *fencehold.Client, p *testcluster.Proxy, late bool) {
	r.Helper()
	_, err := a.Mutex(job, fencehold.WithTTL(time.Second), fencehold.WithoutRenewal()).Acquire(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	push := func() {}
	if late {
		push = r.keepsBack(p.HoldReplies(pushing)).Release
	}
	p.SwallowReply(joining, 1)
	lease := r.wait(b).granted(5*time.Second, "who asked twice")
	push()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		if value := r.value(); lease.Valid() && holderOf(value) != lease.Fence().Holder {
			r.Fatalf("the lease is valid, the server has %q", value)
		}
	}
	r.release(lease)
}

// The place is lost, and then the answer to joining again: the repeated request
// goes on under the holder id that was sent last.
func TestFoundRepeatedAfterANewHolder(t *testing.T) {
	r := newRace(t)
	p := r.proxy()
	b := r.client(p.Addr(), fencehold.WithTTL(3*time.Second))
	r.release(r.hold(b))
	r.inboxes(1)
	r.hold(r.direct())
	w := r.queue(b)[0]
	p.SwallowReply(joining, 1)
	r.server.Do("FLUSHALL")
	r.load(r.server)
	lease := w.granted(10*time.Second, "who asked twice")
	if err := lease.Release(context.Background()); err != nil || r.value() != "" {
		t.Errorf("released with %v; the server has %q", err, r.value())
	}
}

// No connection for listening can be had: waiting is polling.
func TestFoundNoConnectionToListen(t *testing.T) {
	r := newRace(t)
	held := r.hold(r.direct())
	r.inboxes(1)
	c := r.direct()
	if _, err := c.Inspect(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	r.server.Do("CONFIG", "SET", "maxclients", "1")
	w := r.wait(c)
	r.release(held)
	r.servedWithin(2*soon, w)
}

// Entries that nobody of ours wrote are dropped.
func TestFoundForeignEntries(t *testing.T) {
	for _, entry := range []string{"garbage", "a b", "a b c d", "H C 0 m", "", "x y 99999999999999999999 m"} {
		t.Run(entry, func(t *testing.T) {
			r := newRace(t)
			held := r.hold(r.direct())
			r.server.Do("ZADD", jobLine, "1", entry)
			for _, client := range []string{"C", "b", "y"} {
				r.server.Do("SET", "lock:fh!p:"+client, "1 chan")
			}
			r.release(held)
			r.servedWithin(soon, r.wait(r.direct()))
		})
	}
}

// However many dead waiters there are, the living one behind them is served.
func TestFoundManyDeadWaiters(t *testing.T) {
	r := newRace(t)
	held := r.hold(r.direct())
	for i := range 400 {
		r.server.Do("ZADD", jobLine, fmt.Sprint(i+1), fmt.Sprintf("HOLDER%d client%d 6000 c=x", i, i))
	}
	w := r.wait(r.direct())
	r.lined(401)
	r.inboxes(1)
	r.release(held)
	r.servedWithin(soon, w)
}

// An attempt is repeated after somebody took the end from its lock.
func TestFoundPersistedLock(t *testing.T) {
	r := newRace(t)
	p := r.proxy()
	a := r.client(p.Addr())
	const trying = "\r\ntry\r\n"
	p.OnRequest(func(b []byte) {
		if strings.Contains(string(b), trying) {
			_, _ = r.server.TryDo("PERSIST", jobKey)
		}
	})
	p.SwallowReply(trying, 1)
	lease, err := a.Mutex(job).TryAcquire(t.Context())
	if err != nil || holderOf(r.value()) != lease.Fence().Holder {
		t.Fatalf("acquired with %v; the server has %q", err, r.value())
	}
}
