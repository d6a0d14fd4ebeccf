package redislock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// brief is a TTL that a test can see the end of.
const brief = 600 * time.Millisecond

// A push comes after its grant has expired and somebody else has the lock: with
// the answers to pings behind it; after them; and with the pings not answered.
func TestRace04DelayedPush(t *testing.T) {
	ttl := fencehold.WithTTL(brief)
	for what, open := range map[string]func(*race) (client *fencehold.Client, ask, listen *testcluster.Proxy){
		"before answers": func(r *race) (*fencehold.Client, *testcluster.Proxy, *testcluster.Proxy) {
			proxy := r.proxy()
			return r.client(proxy.Addr(), ttl), nil, proxy
		},
		"after answers": func(r *race) (*fencehold.Client, *testcluster.Proxy, *testcluster.Proxy) {
			client, _, listen := r.apart(ttl)
			return client, nil, listen
		},
		"without answers": func(r *race) (*fencehold.Client, *testcluster.Proxy, *testcluster.Proxy) {
			return r.apart(ttl)
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRace(t)
			client, ask, listen := open(r)
			r.delayed(client, ask, listen)
		})
	}
}

// delayed keeps the push to a client back until its grant is over, and requests
// at ask, if there is one, until the push is there.
func (r *race) delayed(client *fencehold.Client, ask, listen *testcluster.Proxy) {
	holder := r.hold(r.direct())
	waiter := r.queue(client)[0]
	push := r.keepsBack(listen.HoldReplies(pushing))
	heard := func() {}
	if ask != nil {
		heard = r.keepsBack(ask.HoldRequests(pinging)).Release
	}
	r.release(holder)
	r.seen(push, "the grant")
	next := r.hold(r.direct())
	push.Release()
	for range 100 {
		waiter.mayHold()
	}
	heard()
	for range 100 {
		waiter.mayHold()
	}
	r.covered(next)
	r.release(next)
	lease := waiter.granted(soon, "when the lock is free again")
	r.covered(lease)
	r.ordered(holder, next, lease)
}

// mayHold demands that the lock is the waiter's if the waiter thinks so.
func (w *waiter) mayHold() {
	w.race.Helper()
	select {
	case <-w.done:
		if w.err != nil {
			w.race.Fatal(w.err)
		}
		w.race.covered(w.lease)
	case <-time.After(time.Millisecond):
	}
}

// A ping that was sent after the grant, and not answered, is no base.
func TestRace05PingUnderWay(t *testing.T) {
	const ttl = 3 * time.Second // of the waiter and its grant; a ping each second
	r := newRace(t)
	holder := r.hold(r.direct())
	client, ask, listen := r.apart(fencehold.WithTTL(ttl), fencehold.WithoutRenewal())
	waiter := r.queue(client)[0]
	// Just after a ping, so that the base is young when the next one is sent.
	r.eventually(soon, "a ping", func() bool { return r.pinged() < 50*time.Millisecond })
	ping := r.keepsBack(ask.HoldRequests(pinging))
	push := r.keepsBack(listen.HoldReplies(pushing))
	r.release(holder)
	r.seen(push, "the grant")
	r.seen(ping, "the next ping")
	push.Release()
	select {
	case <-waiter.done:
	case <-time.After(busy): // a renewal waits behind the ping
	}
	ping.Release()
	lease := waiter.granted(soon, "the push has come")
	r.covered(lease)
	if !lease.Valid() {
		t.Errorf("lease of %v: %v", ttl, lease.Err())
	}
}

// pinged is how long ago the only waiter gave a sign of life.
func (r *race) pinged() time.Duration {
	const lasts = 3 * time.Second
	key := strings.TrimSpace(r.server.Do("KEYS", "lock:fh!p:*"))
	left, _ := time.ParseDuration(r.server.Do("PTTL", key) + "ms")
	return lasts - left
}

// The push of a grant that has expired comes when the same wait stands in line
// once more.
func TestRace06PushOfAnEarlierGrant(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	client, _, listen := r.apart(fencehold.WithTTL(brief))
	waiter := r.queue(client)[0]
	first := holderOf(r.line()[0])
	push := r.keepsBack(listen.HoldReplies(pushing))
	r.release(holder)
	r.seen(push, "the grant")
	next := r.hold(r.direct()) // once the grant is over
	r.forget()                 // so that the wait looks where it stands
	r.lined(1)
	if again := holderOf(r.line()[0]); again == first {
		t.Errorf("the wait stands in line under %s again", first)
	}
	push.Release()
	for range 100 {
		waiter.mayHold()
	}
	waiter.waits("the lock is somebody else's")
	r.covered(next)
	r.release(next)
	r.ordered(holder, next, waiter.granted(soon, "in its turn"))
}

// The push is lost. The next one in line shall not have to wait for the grant
// to expire: the waiter finds it.
func TestRace07PushIsLost(t *testing.T) {
	for what, lose := range map[string]func(*race, *testcluster.Proxy, *testcluster.Hold){
		"with the connection": func(_ *race, listen *testcluster.Proxy, _ *testcluster.Hold) { listen.Reset() },
		"with the sign of life": func(r *race, _ *testcluster.Proxy, _ *testcluster.Hold) {
			r.forget()
		},
		"with the subscription": func(r *race, _ *testcluster.Proxy, push *testcluster.Hold) {
			r.server.Do("CLIENT", "KILL", "TYPE", "pubsub")
			push.Release() // the proxy throws it away with the connection, or it comes
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRace(t)
			holder := r.hold(r.direct())
			client, _, listen := r.apart()
			waiter := r.queue(client)[0]
			push := r.keepsBack(listen.HoldReplies(pushing))
			r.release(holder)
			r.seen(push, "the grant")
			lose(r, listen, push)
			lease := waiter.granted(soon, "the push is lost")
			r.covered(lease)
			r.ordered(holder, lease)
		})
	}
}

// The push is lost with the connection: the new subscription has the wait look,
// before the next ping could.
func TestRace07NewSubscriptionLooks(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	client, ask, listen := r.apart()
	waiter := r.queue(client)[0]
	push := r.keepsBack(listen.HoldReplies(pushing))
	r.eventually(soon, "a ping", func() bool { return r.pinged() < 50*time.Millisecond })
	var pings atomic.Int32
	ask.OnRequest(func(request []byte) {
		if strings.Contains(string(request), pinging) {
			pings.Add(1)
		}
	})
	r.release(holder)
	r.seen(push, "the grant")
	listen.Reset()
	lease := waiter.granted(soon, "the push is lost")
	if n := pings.Load(); n != 0 {
		t.Errorf("found the grant after %d pings", n)
	}
	r.ordered(holder, lease)
}

// The push is lost, and nothing else is: the time of the holder before tells.
func TestRace07PushIsLostSilently(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct(fencehold.WithTTL(brief)))
	client, _, listen := r.apart()
	waiter := r.queue(client)[0]
	token := tokenOf(r.value())
	r.keepsBack(listen.HoldReplies(pushing))
	r.release(holder)
	granted := tokenOf(r.value())
	if granted == "" || granted == token {
		t.Fatalf("the lock is %q", r.value())
	}
	lease := waiter.granted(brief+soon, "when the time of the holder before is over")
	if lease.Token().String() != granted {
		t.Errorf("token %v, want %s of the grant whose push was lost", lease.Token(), granted)
	}
	r.covered(lease)
}

// A renewal is executed when the grant has expired and somebody else has the
// lock.
func TestRace17RenewalMeetsTheNextHolder(t *testing.T) {
	const ttl = brief / 2 // shorter than what the renewal asks for
	r := newRace(t)
	holder, renewal := r.overdue()
	next := r.hold(r.direct(fencehold.WithTTL(ttl), fencehold.WithoutRenewal()))
	renewal.Release()
	// On the same connection, the release comes after the renewal.
	if err := holder.Release(t.Context()); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("release of what has expired: %v", err)
	}
	if left := r.left(); left > ttl {
		t.Errorf("%v left: somebody else's renewal counted", left)
	}
	r.covered(next)
	r.ordered(holder, next)
}

// A renewal is executed when the grant has expired and nobody has the lock.
func TestRace17RenewalMeetsExpiry(t *testing.T) {
	r := newRace(t)
	holder, renewal := r.overdue()
	backend := openBackend(t, r.server.URL())
	defer backend.Close()
	if _, err := backend.Renew(t.Context(), grantOf(holder), brief); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("renewal of what has expired: %v", err)
	}
	if value := r.value(); value != "" {
		t.Errorf("a renewal brought back %q", value)
	}
	renewal.Release()
	if err := holder.Release(t.Context()); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("release of what has expired: %v", err)
	}
	if value := r.value(); value != "" {
		t.Errorf("the renewal brought back %q", value)
	}
}

// overdue returns a lease that has expired, and its renewal on the way.
func (r *race) overdue() (*fencehold.Lease, *testcluster.Hold) {
	r.Helper()
	proxy := r.proxy()
	holder := r.hold(r.client(proxy.Addr(), fencehold.WithTTL(brief)))
	renewal := r.keepsBack(proxy.HoldRequests(renewing))
	r.seen(renewal, "a renewal")
	r.eventually(soon, "the grant is over", func() bool { return r.value() == "" })
	if holder.Valid() {
		r.Error("valid although it has expired")
	}
	return holder, renewal
}
