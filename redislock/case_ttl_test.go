package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

func TestB24TTL(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t, fencehold.WithoutRenewal())
	held := acquire(t, a, "held", fencehold.WithTTL(limit))
	eventually(t, "the client listens", func() bool { return server.Do("PUBSUB", "CHANNELS") != "" })
	p.OnRequest(func(b []byte) {
		if !strings.Contains(string(b), "PING") { // the client's own
			p.note(b)
			t.Errorf("sent for a TTL that is refused: %q", b)
		}
	})
	for _, ttl := range []time.Duration{0, -time.Second, 1, 999 * time.Microsecond, time.Millisecond, 99 * time.Millisecond} {
		_, err := a.Mutex("job", fencehold.WithTTL(ttl)).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrInvalid)
		mustBe(t, held.Extend(bounded(t), ttl), fencehold.ErrInvalid)
	}
	p.OnRequest(p.note)
	for _, row := range []struct{ ttl, above time.Duration }{
		{100 * time.Millisecond, 0},
		{500 * time.Millisecond, 0},
		{1500 * time.Millisecond, time.Second},
	} {
		lease := acquire(t, a, "job", fencehold.WithTTL(row.ttl))
		if left := pttl(t, server, "lock:job"); left <= row.above || left > row.ttl {
			t.Errorf("%v left of a TTL of %v", left, row.ttl)
		}
		release(t, lease)
		lease = acquire(t, a, "job", fencehold.WithTTL(limit))
		if err := lease.Extend(bounded(t), limit+row.ttl); err != nil {
			t.Fatal(err)
		}
		if left := pttl(t, server, "lock:job"); left <= limit+row.above || left > limit+row.ttl {
			t.Errorf("%v left after an extension to %v", left, limit+row.ttl)
		}
		release(t, lease)
	}
}

// endless is a script that names the keys without an end, but for the counter,
// of which there is one.
const endless = `local found = ''
for _, key in ipairs(redis.call('KEYS', '*')) do
  if key ~= 'lock:fh!c' and redis.call('PTTL', key) == -1 then found = found .. key .. ' ' end
end
return found`

func TestB26ConnectionDiesAfterEachCommand(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	stop := make(chan struct{})
	var checker, attempts sync.WaitGroup
	checker.Go(func() {
		for {
			if found := server.Do("EVAL", endless, "0"); found != "" {
				t.Errorf("keys without an end: %s", found)
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	for n := 1; n <= 12; n++ {
		for _, queued := range []bool{false, true} {
			attempts.Go(func() { dieAfter(t, server, n, queued) })
		}
	}
	attempts.Wait()
	close(stop)
	checker.Wait()
}

// dieAfter has a client acquire a lock while its connection dies after the n-th
// request; if queued, another client has the lock and hands it over. Whatever
// became of it, the lock is free after the TTL.
func dieAfter(t *testing.T, server *testcluster.Redis, n int, queued bool) {
	name := fmt.Sprintf("job-%d-%v", n, queued)
	const ttl = time.Second
	p := testcluster.StartProxy(t, server.Addr())
	b := openClient(t, server.URL(), fencehold.WithTTL(limit))
	if queued {
		held := acquire(t, b, name)
		time.AfterFunc(200*time.Millisecond, func() { _ = held.Release(context.Background()) })
	}
	var seen atomic.Int32
	p.OnRequest(func([]byte) {
		if int(seen.Add(1)) == n {
			p.SwallowReply("", 1) // this one is the next to be passed on
		}
	})
	server.Do("SCRIPT", "FLUSH")
	dieAcquiring(t, p, name, ttl)
	lease, err := b.Mutex(name, fencehold.WithMaxWait(ttl+2*slack)).Acquire(t.Context())
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	_ = lease.Release(t.Context())
}

// dieAcquiring has a client behind a proxy acquire a lock as well as it can,
// and vanish.
func dieAcquiring(t *testing.T, p *testcluster.Proxy, name string, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	backend, err := redislock.Open(ctx, "redis://"+p.Addr())
	if err != nil {
		return
	}
	a, err := fencehold.New(backend, fencehold.WithTTL(ttl), fencehold.WithoutRenewal())
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() {
		p.Heal()
		a.Close()
	})
	_, _ = a.Mutex(name).Acquire(ctx)
	p.Cut()
}

func TestB27SlowGrant(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t, fencehold.WithTTL(200*time.Millisecond))
	p.Delay(300 * time.Millisecond)
	_, err := a.Mutex("job").TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrUnavailable)
	if !strings.Contains(err.Error(), "ran out while it was being acquired") {
		t.Errorf("error %q does not say why", err)
	}
	began := time.Now()
	eventually(t, "the lock is free", func() bool { return exists(server, "lock:job") == "0" })
	within(t, "freeing the lock", time.Since(began), 500*time.Millisecond)
}

func TestB27SlowRenewal(t *testing.T) {
	t.Parallel()
	p := newTap(t, testcluster.StartRedis(t))
	a := p.client(t, fencehold.WithTTL(time.Second), fencehold.WithoutRenewal())
	lease := acquire(t, a, "job")
	granted := p.all("acquire")[0].at
	p.Delay(1200 * time.Millisecond)
	mustBe(t, lease.Extend(bounded(t), time.Second), fencehold.ErrLost)
	within(t, "learning of the loss", time.Since(granted), time.Second)
	p.Delay(0)
}

func TestB27GrantAfterAWait(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
	acquire(t, a, "job")
	b := openClient(t, server.URL(), fencehold.WithTTL(time.Second), fencehold.WithoutRenewal())
	lease := acquire(t, b, "job")
	// Nobody pushes a lock that expires: the waiter asks, and its grant counts from
	// that question.
	if left := time.Until(lease.Expires()); left < time.Second-slack || left > time.Second {
		t.Errorf("%v of 1s left at the grant", left)
	}
	for half := time.Now().Add(500 * time.Millisecond); time.Now().Before(half) && lease.Valid(); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := lease.Extend(bounded(t), time.Second); err != nil {
		t.Errorf("a renewal after half of the TTL: %v", err)
	}
	if left := pttl(t, server, "lock:job"); left < 800*time.Millisecond {
		t.Errorf("%v left after the renewal", left)
	}
}

func TestB28WaitIsNotTTL(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	holder := acquire(t, openClient(t, server.URL(), fencehold.WithTTL(10*time.Second)), "job")
	time.AfterFunc(3*time.Second, func() { _ = holder.Release(context.Background()) })
	long := startAcquire(t, openClient(t, server.URL()), "job",
		fencehold.WithTTL(time.Second), fencehold.WithMaxWait(10*time.Second))

	a := p.client(t, fencehold.WithTTL(10*time.Second))
	began := time.Now()
	_, err := a.Mutex("job", fencehold.WithMaxWait(500*time.Millisecond)).Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	if took := time.Since(began); took < 500*time.Millisecond || took > 700*time.Millisecond+slack {
		t.Errorf("a wait of 500ms took %v", took)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began = time.Now()
	_, err = a.Mutex("job", fencehold.WithMaxWait(10*time.Second)).Acquire(ctx)
	mustBe(t, err, context.DeadlineExceeded)
	if took := time.Since(began); took < 300*time.Millisecond || took > 500*time.Millisecond+slack {
		t.Errorf("a context of 300ms took %v", took)
	}

	got := long.lease(t)
	if left := time.Until(got.Expires()); long.took < 2900*time.Millisecond || left < 550*time.Millisecond {
		t.Errorf("granted after %v with %v left", long.took, left)
	}
	within(t, "the wait", long.took, 3500*time.Millisecond)
}

func TestB28TryOnceIsOneRequest(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := p.client(t, fencehold.WithMaxWait(0))
	lease := acquire(t, a, "free")
	holder := acquire(t, openClient(t, server.URL()), "held")
	_, err := a.Mutex("held").Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	_, err = a.Mutex("held").TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	if n := p.count("acquire"); n != 3 {
		t.Errorf("%d requests for three attempts", n)
	}
	release(t, holder)
	release(t, lease)
}
