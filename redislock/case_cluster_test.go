package redislock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

func TestB48LifeInACluster(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 3, 0)
	live(t, cluster.URL(), func(name string) { mustShareSlot(t, cluster, name) })
}

// The same works unchanged on a single server.
func TestB48LifeOnOneServer(t *testing.T) {
	t.Parallel()
	live(t, testcluster.StartRedis(t).URL(), func(string) {})
}

// live leads a whole life of 200 locks, of which waiting is called while
// somebody waits; then it holds 50 for three times their TTL.
func live(t *testing.T, url string, waiting func(name string)) {
	a := openClient(t, url, fencehold.WithTTL(10*time.Second))
	b := openClient(t, url, fencehold.WithTTL(10*time.Second))
	for i := range 200 {
		name := fmt.Sprintf("orders:%d", i*7919)
		lease := acquire(t, a, name)
		next := startAcquire(t, b, name)
		awaitWaiters(t, a, name, 1)
		waiting(name)
		if err := lease.Extend(bounded(t), limit); err != nil {
			t.Fatal(err)
		}
		if h := inspect(t, b, name); h.Holder != lease.Fence().Holder || h.Waiting != 1 {
			t.Errorf("%s is held by %q, with %d waiting", name, h.Holder, h.Waiting)
		}
		release(t, lease)
		got := next.lease(t)
		if got.Token() <= lease.Token() {
			t.Errorf("%s: token %v after %v", name, got.Token(), lease.Token())
		}
		release(t, got)
	}
	holdMany(t, a)
}

func holdMany(t *testing.T, c *fencehold.Client) {
	t.Helper()
	const ttl = time.Second
	var leases []*fencehold.Lease
	for i := range 50 {
		leases = append(leases, acquire(t, c, fmt.Sprintf("many:%d", i), fencehold.WithTTL(ttl)))
	}
	for began := time.Now(); time.Since(began) < 3*ttl; time.Sleep(20 * time.Millisecond) {
		for _, lease := range leases {
			if !lease.Valid() {
				t.Fatalf("%s: %v", lease.Name(), lease.Err())
			}
		}
	}
	for _, lease := range leases {
		release(t, lease)
	}
}

// mustShareSlot fails if keys of a lock that somebody waits for are not all in
// its slot.
func mustShareSlot(t *testing.T, cluster *testcluster.Cluster, name string) {
	t.Helper()
	slot := cluster.Slot("lock:" + name)
	found := strings.Fields(cluster.PrimaryOf("lock:"+name).Do("CLUSTER", "GETKEYSINSLOT", fmt.Sprint(slot), "100"))
	for _, part := range []string{"lock:" + name, "lock:fh!c{", "lock:fh!q{", "lock:fh!p{"} {
		if !slices.ContainsFunc(found, func(key string) bool { return strings.HasPrefix(key, part) }) {
			t.Errorf("slot %d of %s has no key %s...: %q", slot, name, part, found)
		}
	}
}

// Whoever was pushed the lock in a Cluster is told at once when it is taken away,
// long before the next renewal.
func TestB80UnlockInAClusterIsPushed(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 3, 0)
	a := openClient(t, cluster.URL(), fencehold.WithTTL(limit))
	lease := acquire(t, a, "job")
	next := startAcquire(t, openClient(t, cluster.URL(), fencehold.WithTTL(limit)), "job")
	awaitWaiters(t, a, "job", 1)
	release(t, lease)
	victim := next.lease(t)
	// Of the first holder, and of the second.
	eventually(t, "both listen for losses", func() bool { return len(channels(cluster, "lock:fh!l*")) == 2 })
	if err := a.Unlock(bounded(t), "job", victim.Fence().Holder, "a test"); err != nil {
		t.Fatal(err)
	}
	closes(t, "the victim is told", victim.Done(), 500*time.Millisecond)
	mustBeLost(t, victim.Err(), fencehold.ReasonRevoked)
	if !strings.Contains(victim.Err().Error(), "a test") {
		t.Errorf("loss %q does not say why", victim.Err())
	}
}

// channels are those at any node of a Cluster that match a pattern.
func channels(cluster *testcluster.Cluster, pattern string) []string {
	var found []string
	for _, node := range cluster.Nodes() {
		found = append(found, strings.Fields(node.Do("PUBSUB", "CHANNELS", pattern))...)
	}
	return found
}
