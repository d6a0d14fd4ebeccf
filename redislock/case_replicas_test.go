package redislock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// replicaLimit is how long these tests wait for a replica.
const replicaLimit = 1500 * time.Millisecond

func TestMinReplicas(t *testing.T) {
	t.Parallel()
	primary := testcluster.StartRedis(t)
	replica := testcluster.StartReplica(t, primary)
	url := primary.URL() + "?min_replicas=1&replica_timeout=" + replicaLimit.String()
	a := openClient(t, url, fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
	lease := acquire(t, a, "job")
	if value := replica.Do("GET", "lock:job"); value == "" || value != primary.Do("GET", "lock:job") {
		t.Errorf("the replica has %q", value)
	}
	next := startAcquire(t, openClient(t, url), "job")
	awaitWaiters(t, a, "job", 1)
	primary.Do("SCRIPT", "FLUSH")
	before := lease.Expires()
	if err := lease.Extend(bounded(t), 4*time.Second); err != nil || lease.Expires().Sub(before) < time.Second {
		t.Errorf("extended: %v, by %v", err, lease.Expires().Sub(before))
	}
	release(t, lease)
	release(t, next.lease(t))
}

func TestMinReplicasWithoutOne(t *testing.T) {
	t.Parallel()
	primary := testcluster.StartRedis(t)
	replica := testcluster.StartReplica(t, primary)
	url := primary.URL() + "?min_replicas=1&replica_timeout=" + replicaLimit.String()
	a := openClient(t, url, fencehold.WithTTL(10*time.Second), fencehold.WithoutRenewal())
	lease := acquire(t, a, "job")
	warm(primary)
	replica.Pause()

	before := lease.Expires()
	began := time.Now()
	mustBe(t, lease.Extend(bounded(t), 20*time.Second), fencehold.ErrUnavailable)
	within(t, "an extension in vain", time.Since(began), replicaLimit)
	if now := lease.Expires(); now.After(before) || !lease.Valid() {
		t.Errorf("unconfirmed, the end moved by %v; the lease: %v", now.Sub(before), lease.Err())
	}

	// An attempt whose outcome is not known is repeated once.
	began = time.Now()
	_, err := a.Mutex("other").TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrUnavailable)
	within(t, "an attempt in vain", time.Since(began), 2*replicaLimit)
	eventually(t, "nothing is left behind", func() bool { return exists(primary, "lock:other") == "0" })
	within(t, "undoing it", time.Since(began), 2*replicaLimit+500*time.Millisecond)

	replica.Resume()
	release(t, acquire(t, a, "other"))
	release(t, lease)
}

// The backend itself takes back a grant that no replica has, before it says so.
func TestMinReplicasUndoesAGrant(t *testing.T) {
	t.Parallel()
	primary := testcluster.StartRedis(t)
	replica := testcluster.StartReplica(t, primary)
	backend := openBackend(t, primary.URL()+"?min_replicas=1&replica_timeout=200ms")
	defer backend.Close()
	replica.Pause()
	defer replica.Resume()
	req := driver.Request{Name: "job", Holder: driver.NewHolder(), Owner: "A", TTL: limit}
	_, err := backend.TryAcquire(bounded(t), req)
	if !errors.Is(err, driver.ErrRefused) || errors.Is(err, fencehold.ErrHeld) {
		t.Errorf("error %v; want one that says that nothing was done", err)
	}
	if value := primary.Do("GET", "lock:job"); value != "" {
		t.Errorf("the lock is %q", value)
	}
	if exists(primary, counterKey) != "1" {
		t.Error("nothing was granted")
	}
}

// A grant that is pushed counts when a renewal of its own was confirmed, and not
// before.
func TestMinReplicasPushedGrant(t *testing.T) {
	r := newRace(t)
	replica := testcluster.StartReplica(t, r.server)
	holder := r.hold(r.direct())
	proxy := r.proxy()
	var renewals, asked atomic.Int32
	proxy.OnRequest(func(request []byte) {
		switch text := string(request); {
		case strings.Contains(text, renewing):
			renewals.Add(1)
		case strings.Contains(text, joining), strings.Contains(text, checking):
			asked.Add(1)
		}
	})
	waiter := r.queue(r.at("redis://" + proxy.Addr() + "?min_replicas=1&replica_timeout=200ms"))[0]
	replica.Pause()
	before := asked.Load()
	r.release(holder)
	r.eventually(hang, "a renewal, and questions after it", func() bool {
		return renewals.Load() > 0 && asked.Load() >= before+3
	})
	waiter.waits("no replica confirms anything")
	replica.Resume()
	lease := waiter.granted(hang, "the replica is back")
	r.covered(lease)
	if value := replica.Do("GET", jobKey); holderOf(value) != lease.Fence().Holder {
		t.Errorf("the replica has %q", value)
	}
	r.ordered(holder, lease)
}
