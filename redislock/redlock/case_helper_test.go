package redlock_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// opener opens a client of a set by its URL, as its users do.
func opener(t testing.TB, url string, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	c, err := fencehold.Open(bounded(t), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// proxied puts a proxy before each server, and returns the URL that leads through them.
func (s set) proxied(t testing.TB) ([]*testcluster.Proxy, string) {
	t.Helper()
	proxies, addrs := make([]*testcluster.Proxy, len(s)), make([]string, len(s))
	for i, server := range s {
		proxies[i] = testcluster.StartProxy(t, server.Addr())
		addrs[i] = proxies[i].Addr()
	}
	return proxies, "redlock://" + strings.Join(addrs, ",")
}

// A tally counts the requests about the lock that pass each proxy of a peer.
type tally []atomic.Int32

// count begins to count.
func (p *peer) count() tally {
	counts := make(tally, len(p.proxies))
	for i, proxy := range p.proxies {
		proxy.OnRequest(func(b []byte) {
			if strings.Contains(string(b), jobKey) {
				counts[i].Add(1)
			}
		})
	}
	return counts
}

// most returns the largest count.
func (c tally) most() (most int32) {
	for i := range c {
		most = max(most, c[i].Load())
	}
	return most
}

// mustBeLost fails unless err is a loss for a reason.
func mustBeLost(t testing.TB, err error, reason fencehold.Reason) {
	t.Helper()
	mustBe(t, err, fencehold.ErrLost)
	if lost, ok := errors.AsType[*fencehold.LostError](err); !ok || lost.Reason != reason {
		t.Errorf("error %q: want a loss by %q", err, reason)
	}
}

// closes waits for a channel to be closed, for at most d and slack.
func closes(t testing.TB, what string, c <-chan struct{}, d time.Duration) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(d + slack):
		t.Fatalf("%s: not within %v", what, d)
	}
}

// everywhere waits until all servers have a lock for its holder.
func (s set) everywhere(t testing.TB, lease *fencehold.Lease) {
	t.Helper()
	for _, server := range s {
		poll(t, "all servers have the lock", func() bool { return has(server, lease.Fence().Holder) })
	}
}

// values returns the values of the lock at all servers.
func (s set) values() []string {
	var all []string
	for _, server := range s {
		all = append(all, value(server))
	}
	return all
}

// counters returns the counters of all servers.
func (s set) counters() []string {
	var all []string
	for _, server := range s {
		all = append(all, server.Do("GET", "lock:fh!h"))
	}
	return all
}

// highest returns the largest counter.
func (s set) highest() (most int64) {
	for _, counter := range s.counters() {
		n, _ := strconv.ParseInt(counter, 10, 64)
		most = max(most, n)
	}
	return most
}

// mustStayFree watches for a while that no server has the lock.
func (s set) mustStayFree(t testing.TB, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for i, server := range s {
			if v := value(server); v != "" {
				t.Fatalf("server %d has %q", i, v)
			}
		}
	}
}

// nothingLeft fails unless neither the lock nor a line for it stays, for at most d.
func (s set) nothingLeft(t testing.TB, d time.Duration) {
	t.Helper()
	start := time.Now()
	for _, server := range s {
		poll(t, "lock and line are gone", func() bool { return server.Do("EXISTS", jobKey, line) == "0" })
	}
	within(t, "leaving nothing behind", time.Since(start), d)
}

// without returns the servers that are not among some.
func (s set) without(some []int) (rest set) {
	for i, server := range s {
		if !slices.Contains(some, i) {
			rest = append(rest, server)
		}
	}
	return rest
}

// choices returns all ways to choose k of n.
func choices(n, k int) (all [][]int) {
	for bits := range 1 << n {
		var some []int
		for i := range n {
			if bits>>i&1 == 1 {
				some = append(some, i)
			}
		}
		if len(some) == k {
			all = append(all, some)
		}
	}
	return all
}

// awaitRenewal waits for a renewal to come through, and fails if the lease ends.
func awaitRenewal(t testing.TB, lease *fencehold.Lease) {
	t.Helper()
	first := lease.Expires()
	poll(t, "a renewal, or the end", func() bool { return lease.Err() != nil || lease.Expires().After(first) })
	if err := lease.Err(); err != nil {
		t.Fatal(err)
	}
}

// asking are the two ways to ask for a lock.
var asking = map[string]func(*fencehold.Mutex, context.Context) (*fencehold.Lease, error){
	"try": (*fencehold.Mutex).TryAcquire, "acquire": (*fencehold.Mutex).Acquire,
}

// expired takes a lock without a client, and returns when its time is over.
func (s set) expired(t testing.TB, backend driver.Backend, ttl time.Duration) driver.Grant {
	t.Helper()
	grant, err := backend.TryAcquire(bounded(t), request(ttl))
	if err != nil {
		t.Fatal(err)
	}
	s.free(t)
	return grant
}
