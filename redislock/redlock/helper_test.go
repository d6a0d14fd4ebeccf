package redlock_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock/redlock"
)

const (
	// slack is what a busy machine may add to a time that is checked.
	slack = 250 * time.Millisecond
	// limit ends whatever hangs.
	limit = 30 * time.Second
	// job is the name of the lock in most tests, and jobKey its key.
	job    = "job"
	jobKey = "lock:job"
	line   = "lock:fh!r:job"
)

// open opens a backend on some servers.
func open(t testing.TB, urls []string, opts redlock.Options) driver.Backend {
	t.Helper()
	backend, err := redlock.OpenWith(context.Background(), opts, urls...)
	if err != nil {
		t.Fatal(err)
	}
	return backend
}

// A peer is a client that reaches each server through a proxy of its own.
type peer struct {
	*fencehold.Client
	backend driver.Backend
	proxies []*testcluster.Proxy
}

// peer opens one, which has used the set once: founding and scripts are done with.
func (s set) peer(t testing.TB, opts ...fencehold.Option) *peer {
	t.Helper()
	return s.peerWith(t, redlock.Options{NodeTimeout: 500 * time.Millisecond}, opts...)
}

func (s set) peerWith(t testing.TB, set redlock.Options, opts ...fencehold.Option) *peer {
	t.Helper()
	p := &peer{}
	var urls []string
	for _, server := range s {
		proxy := testcluster.StartProxy(t, server.Addr())
		p.proxies, urls = append(p.proxies, proxy), append(urls, "redis://"+proxy.Addr())
	}
	p.backend = open(t, urls, set)
	client, err := fencehold.New(p.backend, append([]fencehold.Option{fencehold.WithTTL(10 * time.Second)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	p.Client = client
	t.Cleanup(func() { _ = client.Close() })
	release(t, acquire(t, client, "warm up "+driver.NewHolder()))
	return p
}

// request is an attempt of the driver's.
func request(ttl time.Duration) driver.Request {
	return driver.Request{Name: job, Holder: driver.NewHolder(), Owner: "test", TTL: ttl}
}

// bounded returns a context that ends what hangs.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// acquire waits for a lock, and fails the test if there is none.
func acquire(t testing.TB, c *fencehold.Client, name string, opts ...fencehold.Option) *fencehold.Lease {
	t.Helper()
	lease, err := c.Mutex(name, opts...).Acquire(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// release gives a lock back, and fails the test if it was lost.
func release(t testing.TB, lease *fencehold.Lease) {
	t.Helper()
	if err := lease.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// mustBe fails unless err is of the outcome that is wanted, and of no other.
func mustBe(t testing.TB, err, want error) {
	t.Helper()
	for _, outcome := range []error{
		fencehold.ErrHeld, fencehold.ErrLost, fencehold.ErrReleased, fencehold.ErrUnavailable,
		fencehold.ErrInvalid, fencehold.ErrClosed, errors.ErrUnsupported, context.Canceled, context.DeadlineExceeded,
	} {
		if is := errors.Is(err, outcome); is != errors.Is(want, outcome) {
			t.Fatalf("error %q: errors.Is(err, %q) = %v; want only %v", err, outcome, is, want)
		}
	}
}

// within fails if something took longer than it may on a busy machine.
func within(t testing.TB, what string, took, allowed time.Duration) {
	t.Helper()
	if took > allowed+slack {
		t.Errorf("%s took %v, want at most %v", what, took.Round(time.Millisecond), allowed)
	}
}

// seen waits for a hold to have caught something.
func seen(t testing.TB, what string, h *testcluster.Hold) {
	t.Helper()
	select {
	case <-h.Seen():
	case <-time.After(limit):
		t.Fatalf("never seen: %s", what)
	}
}

// value returns the value of a lock at a server, empty if there is none.
func value(server *testcluster.Redis) string { return server.Do("GET", jobKey) }

// has reports whether a server has the lock for a holder.
func has(server *testcluster.Redis, holder string) bool {
	return strings.HasPrefix(value(server), "fh1:"+holder+":")
}

// inLine waits until n stand in line at every server.
func (s set) inLine(t testing.TB, n string) {
	t.Helper()
	for _, server := range s {
		poll(t, "all stand in line", func() bool { return server.Do("ZCARD", line) == n })
	}
}

// poll waits until a condition holds.
func poll(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// free waits until no server has the lock.
func (s set) free(t testing.TB) {
	t.Helper()
	for _, server := range s {
		poll(t, "the lock is gone", func() bool { return server.Do("EXISTS", jobKey) == "0" })
	}
}

// waiting has a client wait for the lock; the lease, or nil and the time, come through
// the channel.
func waiting(ctx context.Context, t testing.TB, c *fencehold.Client, opts ...fencehold.Option) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		lease, err := c.Mutex(job, opts...).Acquire(ctx)
		done <- outcome{lease, err, time.Now()}
	}()
	t.Cleanup(func() {
		if o := <-done; o.lease != nil {
			_ = o.lease.Release(context.Background())
		}
	})
	served := make(chan outcome, 1)
	go func() {
		o := <-done
		served <- o
		close(done)
	}()
	return served
}

type outcome struct {
	lease *fencehold.Lease
	err   error
	at    time.Time
}

// granted waits for a wait to end with a lease.
func granted(t testing.TB, served <-chan outcome) outcome {
	t.Helper()
	o := <-served
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o
}

// rounds returns n, or a tenth of it outside of the full conformance run.
func rounds(n int) int {
	if os.Getenv("FENCEHOLD_CONFORMANCE") == "full" {
		return n
	}
	return max(1, n/10)
}

// startProxyURL returns the URL of another way to a server.
func startProxyURL(t testing.TB, server *testcluster.Redis) string {
	return "redis://" + testcluster.StartProxy(t, server.Addr()).Addr()
}
