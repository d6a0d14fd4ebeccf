package redislock_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

func TestB15CancelledWhileTheAnswerIsHeld(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t, fencehold.WithTTL(time.Second))
	hold := p.HoldReplies("\r\nG 1")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := a.Mutex("job").Acquire(ctx)
		failed <- err
	}()
	closes(t, "the answer is held", hold.Seen(), time.Second)
	granted := time.Now()
	time.AfterFunc(500*time.Millisecond, hold.Release)
	time.Sleep(50 * time.Millisecond) // the moment at which the caller leaves
	cancelled := time.Now()
	cancel()
	mustBe(t, <-failed, context.Canceled)
	within(t, "the end after the cancel", time.Since(cancelled), 100*time.Millisecond)
	release(t, acquire(t, openClient(t, server.URL()), "job"))
	within(t, "the next grant", time.Since(granted), time.Second)
	hold.Release()
	a.Close()
	if n := p.count("renew"); n != 0 {
		t.Errorf("%d renewals for a call that failed", n)
	}
}

func TestB15CancelledAtAnyMoment(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t, fencehold.WithTTL(time.Second))
	var cancelled int
	for i := range rounds(1000) {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
		lease, err := a.Mutex("job" + strconv.Itoa(i)).Acquire(ctx)
		cancel()
		if err == nil {
			release(t, lease)
			continue
		}
		cancelled++
		mustBe(t, err, context.DeadlineExceeded)
	}
	began := time.Now()
	eventually(t, "no lock is left", func() bool { return server.Do("KEYS", "lock:job*") == "" })
	within(t, "cleaning up", time.Since(began), 1500*time.Millisecond)
	if n := p.count("renew"); n != 0 || cancelled == 0 {
		t.Errorf("%d renewals after %d calls that were cancelled", n, cancelled)
	}
}

func TestB17LostAnswers(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	for name, ask := range map[string]func(*fencehold.Mutex, context.Context) (*fencehold.Lease, error){
		"try": (*fencehold.Mutex).TryAcquire, "acquire": (*fencehold.Mutex).Acquire,
	} {
		t.Run(name, func(t *testing.T) {
			p := newTap(t, server)
			m := p.client(t, fencehold.WithTTL(10*time.Second)).Mutex("job")
			b := openClient(t, server.URL())

			p.SwallowReply(digest("acquire"), 1)
			began := time.Now()
			lease, err := ask(m, bounded(t))
			if err != nil {
				t.Fatalf("one lost answer: %v", err)
			}
			within(t, "the repeated attempt", time.Since(began), time.Second)
			if h := inspect(t, b, "job"); h.Holder != lease.Fence().Holder || h.Token != lease.Token() {
				t.Errorf("held by %s with %v, want %v", h.Holder, h.Token, lease.Fence())
			}
			release(t, lease)

			p.SwallowReply(digest("acquire"), 2)
			_, err = ask(m, bounded(t))
			healed := time.Now()
			mustBe(t, err, fencehold.ErrUnavailable)
			eventually(t, "the lock is undone", func() bool { return exists(server, "lock:job") == "0" })
			within(t, "undoing", time.Since(healed), time.Second)
			last, _ := strconv.ParseInt(server.Do("GET", counterKey), 10, 64)
			next := acquire(t, b, "job")
			if int64(next.Token()) <= last || next.Token() <= lease.Token() {
				t.Errorf("token %v after %d", next.Token(), last)
			}
			release(t, next)
		})
	}
}

func TestB19WaiterGivesUp(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		prepare func(p *tap)
		opts    []fencehold.Option
		timeout time.Duration
		want    error
	}{
		{"wait is over", func(*tap) {}, []fencehold.Option{fencehold.WithMaxWait(300 * time.Millisecond)}, limit, fencehold.ErrHeld},
		{"context ends", func(*tap) {}, nil, 300 * time.Millisecond, context.DeadlineExceeded},
		{
			"connection is reset as the entry is removed", func(p *tap) { p.on("release", sync.OnceFunc(p.Reset)) },
			[]fencehold.Option{fencehold.WithMaxWait(300 * time.Millisecond)},
			limit, fencehold.ErrHeld,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := testcluster.StartRedis(t)
			p := newTap(t, server)
			lease := acquire(t, openClient(t, server.URL()), "job")
			row.prepare(p)
			b := p.client(t, append(row.opts, fencehold.WithOwner("B"))...)
			c := openClient(t, server.URL(), fencehold.WithOwner("C"))
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), row.timeout)
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := b.Mutex("job").Acquire(ctx)
				failed <- err
			}()
			awaitWaiters(t, c, "job", 1)
			next := startAcquire(t, c, "job", fencehold.WithMaxWait(10*time.Second))
			awaitWaiters(t, c, "job", 2)
			mustBe(t, <-failed, row.want)
			within(t, "giving up", time.Since(began), 500*time.Millisecond)
			awaitWaiters(t, c, "job", 1)
			within(t, "leaving the line", time.Since(began), time.Second)
			mustServe(t, server, c, lease, next)
		})
	}
}

// mustServe releases a lock for which C alone waits.
func mustServe(t *testing.T, server *testcluster.Redis, c *fencehold.Client, lease *fencehold.Lease, next *acquiring) {
	t.Helper()
	if h := inspect(t, c, "job"); len(h.Waiters) != 1 || h.Waiters[0].Owner != "C" {
		t.Errorf("in line: %+v", h.Waiters)
	}
	released := time.Now()
	release(t, lease)
	got := next.lease(t)
	within(t, "the hand-over", time.Since(released), 500*time.Millisecond)
	release(t, got)
	if n := exists(server, "lock:job", "lock:fh!q:job"); n != "0" {
		t.Errorf("left behind: %s", server.Do("KEYS", "*"))
	}
}

// Cut off for good, a waiter stands in line until its sign of life is over.
func TestB19WaiterIsCutOff(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	lease := acquire(t, openClient(t, server.URL()), "job")
	c := openClient(t, server.URL(), fencehold.WithOwner("C"))
	p.on("release", sync.OnceFunc(p.Cut))
	b := p.client(t, fencehold.WithTTL(300*time.Millisecond), fencehold.WithMaxWait(300*time.Millisecond))
	waiting := startAcquire(t, b, "job")
	awaitWaiters(t, c, "job", 1)
	next := startAcquire(t, c, "job")
	awaitWaiters(t, c, "job", 2)
	mustBe(t, waiting.fails(t), fencehold.ErrHeld)
	began := time.Now()
	eventually(t, "one sign of life is left", func() bool { return len(server.Do("KEYS", "lock:fh!p:*")) < 40 })
	within(t, "the sign of life", time.Since(began), time.Second)
	released := time.Now()
	release(t, lease)
	got := next.lease(t)
	within(t, "the hand-over past the dead waiter", time.Since(released), 500*time.Millisecond)
	if h := inspect(t, c, "job"); h.Waiting != 0 || h.Owner != "C" {
		t.Errorf("held by %s, %d in line", h.Owner, h.Waiting)
	}
	release(t, got)
	p.Heal()
}
