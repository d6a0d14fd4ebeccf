package redislock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

func TestB08LateRelease(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(200*time.Millisecond), fencehold.WithoutRenewal())
	late := acquire(t, a, "job")
	b := openClient(t, server.URL(), fencehold.WithTTL(10*time.Second), fencehold.WithoutRenewal())
	next := acquire(t, b, "job")
	value := server.Do("GET", "lock:job")
	mustBe(t, late.Release(bounded(t)), fencehold.ErrLost)
	_, err := openClient(t, server.URL()).Mutex("job").TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	if now := server.Do("GET", "lock:job"); now != value {
		t.Errorf("the value became %q, was %q", now, value)
	}
	// B waited in line: its grant is short until it is extended.
	if err := next.Extend(bounded(t), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	mustBe(t, late.Extend(bounded(t), time.Second), fencehold.ErrLost)
	if left := pttl(t, server, "lock:job"); left < 9500*time.Millisecond || left > 10*time.Second {
		t.Errorf("%v left to B", left)
	}
}

func TestB09OutcomesOfRelease(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t, fencehold.WithTTL(200*time.Millisecond), fencehold.WithoutRenewal())
	b := openClient(t, server.URL(), fencehold.WithOwner("B"), fencehold.WithTTL(limit))
	for _, row := range []struct {
		name string
		then func(t *testing.T)
		want fencehold.Reason
	}{
		{"nobody took it", func(*testing.T) {}, fencehold.ReasonExpired},
		{"B took it", func(t *testing.T) { acquire(t, b, "B took it") }, fencehold.ReasonTakenOver},
	} {
		t.Run(row.name, func(t *testing.T) {
			lease := acquire(t, a, row.name)
			eventually(t, "the lock has expired", func() bool { return exists(server, "lock:"+row.name) == "0" })
			row.then(t)
			before, began := p.count(""), time.Now()
			err := lease.Release(context.Background())
			within(t, "the release", time.Since(began), 100*time.Millisecond)
			mustBeLost(t, err, row.want)
			if n := p.count("") - before; n > 1 {
				t.Errorf("%d requests for one release", n)
			}
		})
	}
}

func TestB09SecondReleaseAndNone(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t)
	lease := acquire(t, a, "job")
	release(t, lease)
	before := p.count("")
	release(t, lease)
	if n := p.count("") - before; n != 0 {
		t.Errorf("%d requests for a second release", n)
	}

	acquire(t, openClient(t, server.URL()), "job")
	value := server.Do("GET", "lock:job")
	none, err := a.Mutex("job").TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	before = p.count("")
	if err := none.Release(context.Background()); none != nil || err != nil {
		t.Errorf("a failed acquire returned %v, whose release says %v", none, err)
	}
	if n := p.count("") - before; n != 0 || server.Do("GET", "lock:job") != value {
		t.Errorf("%d requests for the release of nothing, value %q", n, server.Do("GET", "lock:job"))
	}
}

// lossCounter counts the losses that a client tells of.
func lossCounter(n *atomic.Int32) fencehold.Option {
	return fencehold.WithHooks(fencehold.Hooks{Lost: func(fencehold.Event) { n.Add(1) }})
}

func TestB12RenewalHalfASecondLate(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	var losses atomic.Int32
	lease := acquire(t, p.client(t, fencehold.WithTTL(time.Second), lossCounter(&losses)), "job")
	hold := p.HoldRequests(digest("renew"))
	closes(t, "a renewal is on its way", hold.Seen(), time.Second)
	b := openClient(t, server.URL(), fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
	next := startAcquire(t, b, "job")
	awaitWaiters(t, b, "job", 1)
	// 100ms of 500 are over before the release, and the rest after it.
	time.AfterFunc(400*time.Millisecond, hold.Release)
	if err := lease.Release(context.Background()); err != nil {
		t.Errorf("release: %v", err)
	}
	undisturbed(t, server, next.lease(t), 500*time.Millisecond)
	release(t, next.got)
	mustStayGone(t, server, "lock:job", time.Second)
	mustBe(t, lease.Err(), fencehold.ErrReleased)
	if n := losses.Load(); n != 0 {
		t.Errorf("%d losses were told of a released lock", n)
	}
}

func TestB12RenewalMeetsRelease(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	var losses atomic.Int32
	a := p.client(t, fencehold.WithTTL(300*time.Millisecond), lossCounter(&losses))
	b := openClient(t, server.URL(), fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
	for range rounds(200) {
		p.Delay(0)
		lease := acquire(t, a, "job")
		next := startAcquire(t, b, "job")
		p.Delay(rand.N(50 * time.Millisecond))
		sending := make(chan struct{})
		p.on("renew", sync.OnceFunc(func() { close(sending) }))
		closes(t, "a renewal is sent", sending, 300*time.Millisecond)
		time.Sleep(rand.N(10 * time.Millisecond)) // any moment will do
		if err := lease.Release(context.Background()); err != nil {
			t.Fatalf("release: %v", err)
		}
		undisturbed(t, server, next.lease(t), 50*time.Millisecond)
		release(t, next.got)
	}
	p.on("renew", nil)
	mustStayGone(t, server, "lock:job", 400*time.Millisecond)
	if n := losses.Load(); n != 0 {
		t.Errorf("%d losses were told of released locks", n)
	}
}

// undisturbed watches the value and the time of a lock whose holder does
// nothing.
func undisturbed(t *testing.T, server *testcluster.Redis, lease *fencehold.Lease, d time.Duration) {
	t.Helper()
	const round = 3 * time.Millisecond // of the server's clock
	earliest := time.Now()
	value, first := server.Do("GET", "lock:job"), pttl(t, server, "lock:job")
	latest := time.Now()
	for time.Since(earliest) < d {
		passed := time.Since(latest)
		left := pttl(t, server, "lock:job")
		if left > first-passed+round || left < first-time.Since(earliest)-round || left > 2*time.Second {
			t.Fatalf("%v left after %v to %v, at first %v", left, passed, time.Since(earliest), first)
		}
		if now := server.Do("GET", "lock:job"); now != value || !lease.Valid() {
			t.Fatalf("the value became %q, was %q; the lease: %v", now, value, lease.Err())
		}
	}
}

// mustStayGone watches that a key is not made again.
func mustStayGone(t *testing.T, server *testcluster.Redis, key string, d time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < d; time.Sleep(5 * time.Millisecond) {
		if exists(server, key) != "0" {
			t.Fatalf("%s is back after %v: %q", key, time.Since(began), server.Do("GET", key))
		}
	}
}

func TestB13ReleaseWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	lease := acquire(t, p.client(t, fencehold.WithTTL(time.Second)), "job")
	next := startAcquire(t, openClient(t, server.URL()), "job", fencehold.WithMaxWait(10*time.Second))
	awaitWaiters(t, openClient(t, server.URL()), "job", 1)
	const outage = 2 * time.Second
	server.Do("CLIENT", "PAUSE", "2000", "WRITE")
	paused, renewals := time.Now(), p.count("renew")
	err := lease.Release(context.Background())
	switch took := time.Since(paused); {
	case err == nil && took < outage-slack:
		t.Errorf("released after %v by a server that was silent for %v", took, outage)
	case err != nil:
		mustBe(t, err, fencehold.ErrUnavailable)
		within(t, "the release", took, 3*time.Second)
	}
	next.lease(t)
	within(t, "the grant after the outage", time.Since(paused), outage+1500*time.Millisecond)
	if n := p.count("renew") - renewals; n != 0 {
		t.Errorf("%d renewals after the release began", n)
	}
}

func TestB13ReleaseWhileTheLinkIsCut(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	lease := acquire(t, p.client(t, fencehold.WithTTL(time.Second)), "job")
	next := startAcquire(t, openClient(t, server.URL()), "job", fencehold.WithMaxWait(10*time.Second))
	awaitWaiters(t, openClient(t, server.URL()), "job", 1)
	p.Cut()
	cut, renewals := time.Now(), p.count("renew")
	ended := make(chan error, 1)
	go func() { ended <- lease.Release(context.Background()) }()
	next.lease(t)
	within(t, "the grant after the cut", time.Since(cut), time.Second)
	mustBe(t, <-ended, fencehold.ErrUnavailable)
	within(t, "the release", time.Since(cut), 3*time.Second)
	if n := p.count("renew") - renewals; n != 0 {
		t.Errorf("%d renewals after the release began", n)
	}
	mustBe(t, lease.Err(), fencehold.ErrReleased)
}
