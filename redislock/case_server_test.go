package redislock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

func TestB50ScriptsAreFlushed(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t, fencehold.WithTTL(2*time.Second))
	b := p.client(t, fencehold.WithTTL(2*time.Second))
	var flushed sync.Map
	flush := func(script string) func() {
		return func() {
			server.Do("SCRIPT", "FLUSH")
			flushed.Store(script, true)
		}
	}
	scripts := []string{"acquire", "renew", "release", "ping", "inspect", "revoke"}
	for _, script := range scripts {
		p.on(script, flush(script))
	}
	leases := []*fencehold.Lease{acquire(t, a, "job"), acquire(t, a, "second"), acquire(t, a, "third")}
	next := startAcquire(t, b, "job")
	awaitWaiters(t, a, "job", 1)
	eventually(t, "renewals and a ping", func() bool { return p.count("renew") > 3 && p.count("ping") > 0 })
	if err := leases[0].Extend(bounded(t), 2*time.Second); err != nil {
		t.Error(err)
	}
	for _, lease := range leases {
		if !lease.Valid() {
			t.Errorf("%s: %v", lease.Name(), lease.Err())
		}
	}
	release(t, leases[0])
	got := next.lease(t)
	if err := a.Unlock(bounded(t), "job", got.Fence().Holder, "a flush"); err != nil {
		t.Error(err)
	}
	closes(t, "the victim is told", got.Done(), 2*time.Second)
	release(t, leases[1])
	release(t, leases[2])
	for _, script := range scripts {
		if _, ok := flushed.Load(script); !ok {
			t.Errorf("no flush before %s", script)
		}
	}
}

func TestB50RestartWithoutPersistence(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(2*time.Second))
	before := acquire(t, a, "job")
	release(t, before)
	server.Restart()
	after := acquire(t, a, "job")
	if after.Token() <= before.Token() {
		t.Errorf("token %v after %v", after.Token(), before.Token())
	}
	release(t, after)
}

// user makes a user of an ACL and returns its URL.
func user(server *testcluster.Redis, rules ...string) string {
	server.Do(append([]string{"ACL", "SETUSER", "app", "reset", "on", ">secret"}, rules...)...)
	return "redis://app:secret@" + server.Addr()
}

func TestB51NoRightToScripts(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	client := openClient(t, user(server, "~*", "&*", "+@all", "-@scripting"), fencehold.WithTTL(10*time.Second))
	for name, ask := range map[string]func(*fencehold.Mutex, context.Context) (*fencehold.Lease, error){
		"try": (*fencehold.Mutex).TryAcquire, "acquire": (*fencehold.Mutex).Acquire,
	} {
		_, err := ask(client.Mutex("job"), bounded(t))
		mustBe(t, err, fencehold.ErrUnavailable)
		if !strings.Contains(strings.ToLower(err.Error()), "eval") || !strings.Contains(err.Error(), "lacks a right") {
			t.Errorf("%s: error %q does not name the right", name, err)
		}
		if keys := server.Do("KEYS", "*"); keys != "" {
			t.Errorf("%s left %s", name, keys)
		}
	}
}

func TestB52NoRightToChannels(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	url := user(server, "~app:*", "+@all", "resetchannels") + "?prefix=app:"
	lease := acquire(t, openClient(t, url), "job")
	b := openClient(t, url)
	next := startAcquire(t, b, "job", fencehold.WithMaxWait(10*time.Second))
	eventually(t, "the waiter waits", func() bool { return time.Since(next.began) > 100*time.Millisecond })
	released := time.Now()
	release(t, lease)
	got := next.lease(t)
	within(t, "the grant after the release", time.Since(released), time.Second)
	release(t, got)
}

// A waiter who may listen is in line, and misses what the holder may not say.
func TestB52HolderMayNotPublish(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	url := strings.Replace(user(server, "~*", "+@all", "resetchannels"), server.Addr(), p.Addr(), 1)
	lease := acquire(t, openClient(t, url, fencehold.WithTTL(time.Second)), "job")
	b := openClient(t, server.URL(), fencehold.WithTTL(time.Second))
	next := startAcquire(t, b, "job")
	awaitWaiters(t, b, "job", 1)
	released := time.Now()
	release(t, lease)
	if n := p.count("release"); n != 1 {
		t.Errorf("%d requests for one release", n)
	}
	got := next.lease(t)
	within(t, "the grant after the release", time.Since(released), time.Second)
	release(t, got)
}

func TestB54OutOfMemory(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(3*time.Second))
	lease := acquire(t, a, "job")
	waiter := openClient(t, server.URL(), fencehold.WithTTL(3*time.Second))
	next := startAcquire(t, waiter, "job")
	awaitWaiters(t, a, "job", 1)

	server.Do("CONFIG", "SET", "maxmemory", "100kb")
	full, before := time.Now(), lease.Expires()
	eventually(t, "two renewals", func() bool {
		return lease.Err() != nil || lease.Expires().Sub(before) > 1500*time.Millisecond
	})
	if !lease.Valid() || time.Since(full) > 3*time.Second {
		t.Fatalf("the lease after %v: %v", time.Since(full), lease.Err())
	}
	release(t, lease)
	if n := exists(server, "lock:job"); n != "0" {
		t.Errorf("released without memory, held: %q", server.Do("GET", "lock:job"))
	}
	began := time.Now()
	b := openClient(t, server.URL(), fencehold.WithMaxWait(time.Second))
	_, err := b.Mutex("other").Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrUnavailable)
	within(t, "the refusal", time.Since(began), time.Second)
	if !strings.Contains(err.Error(), "memory") {
		t.Errorf("error %q does not name the memory", err)
	}
	if n := exists(server, "lock:other"); n != "0" {
		t.Error("a refused acquire left a key")
	}
	select {
	case <-next.done:
		t.Errorf("the waiter gave up: %v", next.err)
	default:
	}

	server.Do("CONFIG", "SET", "maxmemory", "0")
	raised := time.Now()
	release(t, next.lease(t))
	within(t, "the waiter's grant", time.Since(raised), time.Second)
	release(t, acquire(t, b, "other"))
}

// The lock is released, without memory for handing it on, long before its time is
// over: the waiter is told, and asks until there is memory.
func TestB54ReleaseWithoutMemoryIsTold(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	lease := acquire(t, openClient(t, server.URL(), fencehold.WithTTL(limit)), "job")
	p := newTap(t, server)
	b := p.client(t, fencehold.WithTTL(limit))
	next := startAcquire(t, b, "job")
	awaitWaiters(t, b, "job", 1)
	server.Do("CONFIG", "SET", "maxmemory", "100kb")
	asked := p.count("acquire")
	release(t, lease)
	released := time.Now()
	eventually(t, "the waiter asks", func() bool { return p.count("acquire") >= asked+2 })
	within(t, "asking after the release", time.Since(released), 500*time.Millisecond)
	server.Do("CONFIG", "SET", "maxmemory", "0")
	raised := time.Now()
	got := next.lease(t)
	within(t, "the grant when there is memory", time.Since(raised), 500*time.Millisecond)
	if got.Token() <= lease.Token() {
		t.Errorf("token %v after %v", got.Token(), lease.Token())
	}
	release(t, got)
}
