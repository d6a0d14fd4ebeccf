package goredislock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// prompt is how long after a release a waiter may still be without the lock.
const prompt = time.Second

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// waiting starts to wait for a lock that somebody holds, and returns when the
// server has the waiter in line.
func waiting(t *testing.T, client *fencehold.Client, name string, inLine func() bool) <-chan *fencehold.Lease {
	t.Helper()
	got := make(chan *fencehold.Lease, 1)
	go func() {
		lease, err := client.Mutex(name).Acquire(bounded(t))
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		got <- lease
	}()
	eventually(t, "a waiter is in line", inLine)
	return got
}

// wantGrant demands that a release is followed by the grant of the waiter.
func wantGrant(t *testing.T, lease *fencehold.Lease, got <-chan *fencehold.Lease) {
	t.Helper()
	if err := lease.Release(bounded(t)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if next := <-got; next == nil || next.Token() <= lease.Token() {
		t.Errorf("granted %v after %v", next, lease)
	}
	if took := time.Since(began); took > prompt {
		t.Errorf("granted %v after the release", took)
	}
}

func TestSubscriptionKilled(t *testing.T) {
	server := testcluster.StartRedis(t)
	backend := backendOn(t, redis.NewClient(&redis.Options{Addr: server.Addr()}), nil)
	holder := clientOn(t, backendOn(t, redis.NewClient(&redis.Options{Addr: server.Addr()}), nil))
	lease, err := holder.Mutex("job").Acquire(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	got := waiting(t, clientOn(t, backend), "job", func() bool { return server.Do("ZCARD", "lock:fh!q:job") == "1" })
	if killed := server.Do("CLIENT", "KILL", "TYPE", "pubsub"); killed == "0" {
		t.Error("nobody was subscribed")
	}
	wantGrant(t, lease, got)
}

func TestSlotMovesUnderAWaiter(t *testing.T) {
	cluster := testcluster.StartCluster(t, 2, 0)
	open := func() *fencehold.Client {
		return clientOn(t, backendOn(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrsOf(cluster.Nodes())}), nil))
	}
	lease, err := open().Mutex("job").Acquire(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	slot := cluster.Slot("lock:job")
	old := cluster.Owner(slot)
	got := waiting(t, open(), "job", func() bool { return old.Do("PUBSUB", "SHARDCHANNELS", "*") != "" })
	target := cluster.Nodes()[0]
	if target == old {
		target = cluster.Nodes()[1]
	}
	cluster.MoveSlot(slot, target)
	eventually(t, "the inbox has followed", func() bool { return target.Do("PUBSUB", "SHARDCHANNELS", "*") != "" })
	wantGrant(t, lease, got)
}
