package redislock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// counterKey is where one server keeps the last token.
const counterKey = "lock:fh!c"

func TestB01LossBeforeTheNextGrant(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	lease := acquire(t, p.client(t, fencehold.WithTTL(time.Second)), "job")
	awaitRenewal(t, lease)

	p.Cut()
	cut := time.Now()
	b := openClient(t, server.URL(), fencehold.WithoutRenewal(), fencehold.WithMaxWait(3*time.Second))
	next := acquire(t, b, "job")
	// Asked at this moment, the lease answers by the clock, however late timers are.
	if lease.Valid() {
		t.Error("held although somebody else was granted the lock")
	}
	closes(t, "the loss signal after the next grant", lease.Done(), 0)
	within(t, "the loss after the last renewal", time.Since(lastBefore(t, p, "renew", cut)), time.Second)
	mustBeLost(t, lease.Err(), fencehold.ReasonUnreachable)

	value, renewals := server.Do("GET", "lock:job"), p.count("renew")
	p.Heal()
	began := time.Now()
	mustBe(t, lease.Release(t.Context()), fencehold.ErrLost)
	within(t, "the release", time.Since(began), 200*time.Millisecond)
	if now := server.Do("GET", "lock:job"); now != value || !next.Valid() {
		t.Errorf("the value became %q, was %q", now, value)
	}
	if n := p.count("renew"); n != renewals {
		t.Errorf("%d renewals after the loss", n-renewals)
	}
	release(t, next)
}

// awaitRenewal waits for a renewal to come through.
func awaitRenewal(t *testing.T, lease *fencehold.Lease) {
	t.Helper()
	first := lease.Expires()
	eventually(t, "a renewal comes through", func() bool { return lease.Expires().After(first) })
}

// lastBefore returns when a script was sent last before a moment.
func lastBefore(t *testing.T, p *tap, script string, end time.Time) time.Time {
	t.Helper()
	var last time.Time
	for _, s := range p.all(script) {
		if s.at.Before(end) {
			last = s.at
		}
	}
	if last.IsZero() {
		t.Fatalf("no %s was sent", script)
	}
	return last
}

func TestB02RenewalOfAnExpiredLock(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	for name, between := range map[string]func(){
		"nobody came": func() {},
		"B came": func() {
			release(t, acquire(t, openClient(t, server.URL()), "job"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			backend := openBackend(t, server.URL())
			defer backend.Close()
			req := driver.Request{Name: "job", Holder: driver.NewHolder(), Owner: "A", TTL: 300 * time.Millisecond}
			grant, err := backend.TryAcquire(bounded(t), req)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the lock has expired", func() bool { return exists(server, "lock:job") == "0" })
			between()
			counter := server.Do("GET", counterKey)
			_, err = backend.Renew(bounded(t), grant, time.Second)
			mustBeLost(t, err, fencehold.ReasonExpired)
			mustBeFreeAt(t, server, counter)
		})
	}
}

func TestB02RenewalOfADeletedLock(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(10*time.Second), fencehold.WithoutRenewal())
	lease := acquire(t, a, "job")
	counter := server.Do("GET", counterKey)
	server.Do("DEL", "lock:job")
	mustBeLost(t, lease.Extend(bounded(t), 10*time.Second), fencehold.ReasonDeleted)
	if lease.Valid() {
		t.Error("still held")
	}
	mustBeFreeAt(t, server, counter)
}

// mustBeFreeAt fails if a renewal made the lock, or moved the counter.
func mustBeFreeAt(t *testing.T, server *testcluster.Redis, counter string) {
	t.Helper()
	if n := exists(server, "lock:job"); n != "0" {
		t.Errorf("the renewal brought the lock back: %q", server.Do("GET", "lock:job"))
	}
	if now := server.Do("GET", counterKey); now != counter {
		t.Errorf("the renewal moved the counter from %s to %s", counter, now)
	}
}

func TestB03OneResetRenewal(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	p.on("renew", sync.OnceFunc(p.Reset))
	began := time.Now()
	lease := acquire(t, p.client(t, fencehold.WithTTL(3*time.Second)), "job")
	value := server.Do("GET", "lock:job")
	hold := 5 * time.Second
	if rounds(10) == 10 {
		hold = 8 * time.Second
	}
	for time.Since(began) < hold {
		if now := server.Do("GET", "lock:job"); now != value || !lease.Valid() {
			t.Fatalf("after %v the value is %q and the lease %v", time.Since(began), now, lease.Err())
		}
		time.Sleep(100 * time.Millisecond)
	}
	if n := p.count("renew"); n < 3 {
		t.Errorf("%d renewals were sent, the first of them in vain", n)
	}
	release(t, lease)
}

func TestB03EveryRenewalIsReset(t *testing.T) {
	t.Parallel()
	p := newTap(t, testcluster.StartRedis(t))
	lease := acquire(t, p.client(t, fencehold.WithTTL(3*time.Second)), "job")
	granted := p.all("acquire")[0].at
	p.on("renew", p.Reset)
	closes(t, "the loss", lease.Done(), 3*time.Second)
	within(t, "the loss after the grant", time.Since(granted), 3*time.Second)
	mustBeLost(t, lease.Err(), fencehold.ReasonUnreachable)
	if n := p.count("renew"); n < 2 {
		t.Errorf("%d attempts to renew, want 2 at least", n)
	}
}

func TestB03ForeignValueIsFinal(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	lease := acquire(t, p.client(t, fencehold.WithTTL(3*time.Second)), "job")
	awaitRenewal(t, lease) // the first comes as soon as the client listens
	before := p.count("renew")
	server.Do("SET", "lock:job", "mine now", "PX", "20000")
	closes(t, "the loss", lease.Done(), 1300*time.Millisecond)
	mustBeLost(t, lease.Err(), fencehold.ReasonTakenOver)
	mustBe(t, lease.Release(bounded(t)), fencehold.ErrLost)
	if n := p.count("renew") - before; n != 1 {
		t.Errorf("%d renewals, want the one that found out", n)
	}
	if now := server.Do("GET", "lock:job"); now != "mine now" {
		t.Errorf("the foreign value became %q", now)
	}
}
