package goredislock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// clusterBackend returns a backend on a client of a Cluster.
func clusterBackend(t *testing.T, cluster *testcluster.Cluster, opts *redislock.Options) driver.Backend {
	t.Helper()
	return backendOn(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrsOf(cluster.Nodes())}), opts)
}

// otherPrimary returns a primary that does not have the slot.
func otherPrimary(cluster *testcluster.Cluster, slot int) *testcluster.Redis {
	if first := cluster.Nodes()[0]; first != cluster.Owner(slot) {
		return first
	}
	return cluster.Nodes()[1]
}

// wantCycle demands that a lock can be taken, renewed and released.
func wantCycle(t *testing.T, backend driver.Backend, name string) {
	t.Helper()
	grant, err := backend.TryAcquire(bounded(t), request(name))
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	wantRenewals(t, backend, grant)
	if err := backend.Release(bounded(t), grant, 0); err != nil {
		t.Errorf("release: %v", err)
	}
}

// wantRenewals demands that a grant can be renewed alone and with others.
func wantRenewals(t *testing.T, backend driver.Backend, grant driver.Grant) {
	t.Helper()
	if _, err := backend.Renew(bounded(t), grant, time.Minute); err != nil {
		t.Errorf("renew: %v", err)
	}
	renewals := []*driver.Renewal{{Grant: grant, TTL: time.Minute}, {Grant: grant, TTL: time.Minute}}
	backend.(driver.BatchRenewer).RenewBatch(bounded(t), renewals)
	for _, r := range renewals {
		if r.Err != nil {
			t.Errorf("renew many: %v", r.Err)
		}
	}
}

func TestRedirected(t *testing.T) {
	cluster := testcluster.StartCluster(t, 2, 1)
	for _, test := range []struct {
		name string
		opts redislock.Options
	}{
		{"plain", redislock.Options{Prefix: "{plain}:"}},
		{"confirmed", redislock.Options{Prefix: "{confirmed}:", MinReplicas: 1, ReplicaTimeout: 5 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			backend := clusterBackend(t, cluster, &test.opts)
			slot := cluster.Slot(test.opts.Prefix)
			target := otherPrimary(cluster, slot)
			grant, err := backend.TryAcquire(bounded(t), request("job"))
			if err != nil {
				t.Fatal(err)
			}
			cluster.BeginMove(slot, target)
			cluster.MoveKeys(slot, target)
			wantRenewals(t, backend, grant) // one key: answered by ASK
			cluster.FinishMove(slot, target)
			target.Do("SCRIPT", "FLUSH")
			wantRenewals(t, backend, grant)
			wantCycle(t, backend, "moved")
		})
	}
}

func TestTryAgain(t *testing.T) {
	cluster := testcluster.StartCluster(t, 2, 0)
	opts := &redislock.Options{Prefix: "{p}:"}
	backend := clusterBackend(t, cluster, opts)
	slot := cluster.Slot("{p}:job")
	grant, err := backend.TryAcquire(bounded(t), request("job"))
	if err != nil {
		t.Fatal(err)
	}
	target := otherPrimary(cluster, slot)
	cluster.BeginMove(slot, target)
	cluster.MoveKeys(slot, target, "{p}:job")
	if _, err := backend.TryAcquire(bounded(t), request("job")); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("error %v, want one that says that nothing was done", err)
	}
	if err := backend.Release(bounded(t), grant, 0); err != nil {
		t.Errorf("release: %v", err)
	}
	cluster.FinishMove(slot, target)
	wantCycle(t, backend, "job")
}

func TestConfirmedByReplicas(t *testing.T) {
	set := testcluster.StartSentinel(t, 1, 1)
	within := func(limit time.Duration) driver.Backend {
		return backendOn(t, failoverClient(set), &redislock.Options{MinReplicas: 1, ReplicaTimeout: limit})
	}
	wantCycle(t, within(patience/2), "job")
	set.Servers()[1].Pause()
	_, err := within(100*time.Millisecond).TryAcquire(bounded(t), request("job"))
	set.Servers()[1].Resume()
	if err == nil || errors.Is(err, fencehold.ErrHeld) {
		t.Errorf("error %v, want one that names the replicas", err)
	}
}

func TestLostReplyOfAClusterIsNotRepeated(t *testing.T) {
	cluster := testcluster.StartCluster(t, 1, 0)
	proxy := testcluster.StartProxy(t, cluster.Nodes()[0].Addr())
	backend := backendOn(t, redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrsOf(cluster.Nodes()), MaxRetries: 3,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
		},
	}), nil)
	warm(t, backend)
	ctx := bounded(t)
	grant, err := backend.TryAcquire(ctx, request("job"))
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []func() error{
		func() error { _, err := backend.Renew(ctx, grant, time.Minute); return err },
		func() error {
			renewals := []*driver.Renewal{{Grant: grant, TTL: time.Minute}, {Grant: driver.Grant{Name: "none"}, TTL: time.Minute}}
			backend.(driver.BatchRenewer).RenewBatch(ctx, renewals)
			return renewals[0].Err
		},
	} {
		n := counted(proxy, "lock:job")
		proxy.SwallowReply("lock:job", 1)
		if err := run(); err == nil || errors.Is(err, driver.ErrRefused) || errors.Is(err, fencehold.ErrLost) {
			t.Errorf("error %v, want one that leaves it open", err)
		}
		wantSent(t, n, 1)
	}
}
