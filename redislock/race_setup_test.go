package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// The lock of every race, and its keys outside of a Cluster.
const (
	job        = "job"
	jobKey     = "lock:job"
	jobLine    = "lock:fh!q:job"
	jobCounter = "lock:fh!c"
)

// A race is told from a wait by its length: what has to happen does so soon,
// and without the rule that closes the race it takes half of long at least.
const (
	soon = 2 * time.Second
	long = 30 * time.Second
	hang = long / 3               // ends what should have happened
	busy = 300 * time.Millisecond // what a busy machine may add to a time that is measured
)

// The parts of a request by which a proxy knows it.
const (
	joining  = "\r\nwait\r\n"
	checking = "\r\ncheck\r\n"
	pushing  = "\r\ng " // what begins a pushed grant
	pinging  = "fh!p"   // no other request names a sign of life
)

// The digests by which requests of other scripts are known.
var (
	releasing = redislock.ScriptsByName["release"].SHA1()
	renewing  = redislock.ScriptsByName["renew"].SHA1()
)

// race is one server, and those who meet there.
type race struct {
	*testing.T
	server *testcluster.Redis
}

// newRace starts a server that knows the scripts, so that every run of one is
// a single request.
func newRace(t *testing.T) *race {
	t.Helper()
	t.Parallel()
	r := &race{T: t, server: testcluster.StartRedis(t)}
	r.load(r.server)
	return r
}

// load makes a server know the scripts.
func (r *race) load(server *testcluster.Redis) {
	for _, script := range redislock.ScriptsByName {
		server.Do("SCRIPT", "LOAD", script.Source())
	}
}

// proxy starts a proxy before the server.
func (r *race) proxy() *testcluster.Proxy {
	r.Helper()
	return testcluster.StartProxy(r.T, r.server.Addr())
}

// keepsBack releases a hold at the latest before the clients are closed.
func (r *race) keepsBack(h *testcluster.Hold) *testcluster.Hold {
	r.Cleanup(h.Release)
	return h
}

// seen waits until a hold keeps something back.
func (r *race) seen(h *testcluster.Hold, what string) {
	r.Helper()
	select {
	case <-h.Seen():
	case <-time.After(hang):
		r.Fatalf("was never sent: %s", what)
	}
}

// client opens a client with a TTL of long, unless opts say otherwise.
func (r *race) client(addr string, opts ...fencehold.Option) *fencehold.Client {
	r.Helper()
	return r.at("redis://"+addr, opts...)
}

// direct opens a client without a proxy.
func (r *race) direct(opts ...fencehold.Option) *fencehold.Client {
	r.Helper()
	return r.client(r.server.Addr(), opts...)
}

// at is client for a URL.
func (r *race) at(url string, opts ...fencehold.Option) *fencehold.Client {
	r.Helper()
	backend, err := redislock.Open(r.Context(), url)
	if err != nil {
		r.Fatal(err)
	}
	return r.on(backend, opts...)
}

// on is client for a backend.
func (r *race) on(backend driver.Backend, opts ...fencehold.Option) *fencehold.Client {
	r.Helper()
	client, err := fencehold.New(backend, append([]fencehold.Option{fencehold.WithTTL(long)}, opts...)...)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { client.Close() })
	return client
}

// hold acquires the lock.
func (r *race) hold(c *fencehold.Client) *fencehold.Lease {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), long)
	defer cancel()
	lease, err := c.Mutex(job).Acquire(ctx)
	if err != nil {
		r.Fatal(err)
	}
	return lease
}

// release demands that a lease is released without an error.
func (r *race) release(lease *fencehold.Lease) {
	r.Helper()
	if err := lease.Release(context.Background()); err != nil {
		r.Fatalf("release: %v", err)
	}
}

// eventually waits until a condition holds, which it has to within limit.
func (r *race) eventually(limit time.Duration, what string, holds func() bool) {
	r.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// value is what the lock's key holds; empty for nothing.
func (r *race) value() string { return r.server.Do("GET", jobKey) }

// line returns the entries of those who wait, the front first.
func (r *race) line() []string {
	text := r.server.Do("ZRANGE", jobLine, "0", "-1")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// lined waits until n waiters stand in line.
func (r *race) lined(n int) {
	r.Helper()
	r.eventually(hang, strconv.Itoa(n)+" in line", func() bool { return len(r.line()) == n })
}

// empty demands that the lock is free soon and nobody is in line.
func (r *race) empty() {
	r.Helper()
	r.eventually(soon, "lock free and line empty", func() bool { return r.value() == "" && r.line() == nil })
}

// forget ends the signs of life of all clients.
func (r *race) forget() {
	r.Helper()
	r.server.Do("EVAL", "for _, k in ipairs(redis.call('KEYS', 'lock:fh!p:*')) do redis.call('DEL', k) end", "0")
}

// holderOf returns the holder id in an entry of the line, or in a value.
func holderOf(text string) string {
	text = strings.TrimPrefix(text, "fh1:")
	return text[:strings.IndexAny(text+" ", ": ")]
}

// tokenOf returns the token in a value, as it is written.
func tokenOf(value string) string { return strings.Split(value+":::", ":")[2] }

// A waiter is one call of Acquire.
type waiter struct {
	race   *race
	cancel context.CancelFunc
	done   chan struct{}
	lease  *fencehold.Lease
	err    error
}

// wait has a client wait for the lock.
func (r *race) wait(c *fencehold.Client) *waiter { return r.waitFor(c.Mutex(job)) }

// waitFor is wait for any lock.
func (r *race) waitFor(lock *fencehold.Mutex) *waiter {
	ctx, cancel := context.WithCancel(r.Context())
	w := &waiter{race: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.lease, w.err = lock.Acquire(ctx)
	}()
	return w
}

// queue has clients wait, one behind the other.
func (r *race) queue(clients ...*fencehold.Client) []*waiter {
	r.Helper()
	before := len(r.line())
	var waiters []*waiter
	for i, c := range clients {
		waiters = append(waiters, r.wait(c))
		r.lined(before + i + 1)
	}
	return waiters
}

// granted demands the lease within limit.
func (w *waiter) granted(limit time.Duration, what string) *fencehold.Lease {
	w.race.Helper()
	select {
	case <-w.done:
	case <-time.After(limit):
		w.race.Fatalf("not granted within %v: %s; %s", limit, what, w.race.state())
	}
	if w.err != nil {
		w.race.Fatalf("%s: %v", what, w.err)
	}
	return w.lease
}

// state says how things are, for a failure.
func (r *race) state() string {
	if r.server == nil {
		return "in a Cluster"
	}
	return fmt.Sprintf("the lock is %q, the line %q", r.value(), r.line())
}

// waits demands that the call has not returned.
func (w *waiter) waits(what string) {
	w.race.Helper()
	select {
	case <-w.done:
		w.race.Fatalf("%s: returned %v, %v", what, w.lease, w.err)
	default:
	}
}

// leaves cancels the call and waits for its end.
func (w *waiter) leaves() {
	w.race.Helper()
	w.cancel()
	select {
	case <-w.done:
	case <-time.After(soon):
		w.race.Fatal("a cancelled wait goes on")
	}
	if w.err == nil {
		w.race.release(w.lease)
	} else if !errors.Is(w.err, context.Canceled) {
		w.race.Fatalf("cancelled: %v", w.err)
	}
}

// covered demands that a lease that is valid is the server's, with its token, and
// ends no later than there.
func (r *race) covered(lease *fencehold.Lease) {
	r.Helper()
	end := lease.Expires()
	value, ttl := r.value(), r.left()
	if after := time.Now(); lease.Valid() {
		switch latest := after.Add(ttl + time.Millisecond); {
		case holderOf(value) != lease.Fence().Holder:
			r.Fatalf("the lease of %s is valid, and the lock is %q", lease.Fence().Holder, value)
		case tokenOf(value) != lease.Token().String():
			r.Fatalf("the lease has token %v, and the lock is %q", lease.Token(), value)
		case end.After(latest):
			r.Fatalf("the lease ends %v after the lock", end.Sub(latest))
		}
	}
}

// left is the time that the holder has on the server.
func (r *race) left() time.Duration {
	ms, _ := strconv.Atoi(r.server.Do("PTTL", jobKey))
	return time.Duration(ms) * time.Millisecond
}

// ordered demands that tokens rise.
func (r *race) ordered(leases ...*fencehold.Lease) {
	r.Helper()
	for i := 1; i < len(leases); i++ {
		if leases[i].Token() <= leases[i-1].Token() {
			r.Fatalf("token %v after %v", leases[i].Token(), leases[i-1].Token())
		}
	}
}

// grantOf returns what a driver needs to release a lease.
func grantOf(lease *fencehold.Lease) driver.Grant {
	return driver.Grant{Name: lease.Name(), Holder: lease.Fence().Holder, Sent: driver.Now(), TTL: lease.TTL()}
}

// inTurn demands that two waits end well, each within limit, in any order but
// not at the same time, with tokens above that of an earlier lease.
func (r *race) inTurn(limit time.Duration, earlier *fencehold.Lease, one, other *waiter) {
	r.Helper()
	select {
	case <-one.done:
	case <-other.done:
		one, other = other, one
	case <-time.After(limit):
		r.Fatalf("nobody is granted the lock within %v", limit)
	}
	first := one.granted(limit, "one of two")
	other.waits("the lock is held")
	r.release(first)
	second := other.granted(limit, "the other one")
	r.ordered(earlier, first, second)
	r.release(second)
}
