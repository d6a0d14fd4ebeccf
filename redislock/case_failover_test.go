package redislock_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// A pointer is an address that clients are sent to, until another is put there.
type pointer struct{ atomic.Pointer[string] }

// to sends new connections to a server.
func (p *pointer) to(server *testcluster.Redis) {
	addr := server.Addr()
	p.Store(&addr)
}

// client opens a client that connects to wherever the pointer points.
func (p *pointer) client(t *testing.T, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	conn, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"pointed:1"}, DisableRetry: true, DisableCache: true, ForceSingleClient: true,
		PipelineMultiplex: -1, ReadBufferEachConn: 64 << 10, WriteBufferEachConn: 64 << 10,
		DialCtxFn: func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", *p.Load())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	backend, err := redislock.New(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := fencehold.New(backend, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestB45UnreplicatedLockIsLost(t *testing.T) {
	t.Parallel()
	primary := testcluster.StartRedis(t)
	link := testcluster.StartProxy(t, primary.Addr())
	replica := testcluster.StartRedis(t, testcluster.Config("replicaof", fmt.Sprintf("127.0.0.1 %d", link.Port())))
	eventually(t, "the replica follows", func() bool { return strings.Contains(replica.Do("ROLE"), "\nconnected\n") })
	var at pointer
	at.to(primary)
	a := at.client(t, fencehold.WithTTL(3*time.Second), fencehold.WithOwner("A"))
	link.Cut()
	lease := acquire(t, a, "job")

	replica.Do("REPLICAOF", "NO", "ONE")
	at.to(replica)
	b := at.client(t, fencehold.WithOwner("B"), fencehold.WithoutRenewal())
	next := acquire(t, b, "job") // the failover has lost A's lock
	value := replica.Do("GET", "lock:job")
	primary.Kill()
	pointed := time.Now()
	closes(t, "the loss", lease.Done(), 3*time.Second)
	within(t, "the first renewal at the new primary", time.Since(pointed), 1500*time.Millisecond)
	mustBeLost(t, lease.Err(), fencehold.ReasonTakenOver)
	mustBe(t, lease.Release(bounded(t)), fencehold.ErrLost)
	if now := replica.Do("GET", "lock:job"); now != value {
		t.Errorf("the value became %q, was %q", now, value)
	}
	if next.Token() <= lease.Token() {
		t.Errorf("token %v after %v, which was not replicated", next.Token(), lease.Token())
	}
	release(t, next)
}

func TestB46RolesAreSwapped(t *testing.T) {
	t.Parallel()
	set := testcluster.StartSentinel(t, 1, 3)
	lease := acquire(t, openClient(t, set.URL(), fencehold.WithTTL(5*time.Second)), "job")
	old := set.Primary()
	eventually(t, "the replica has the lock", func() bool {
		for _, server := range set.Servers() {
			if exists(server, "lock:job") != "1" {
				return false
			}
		}
		return true
	})
	other := openClient(t, set.URL(), fencehold.WithTTL(5*time.Second))
	set.Failover()
	swapped := time.Now()
	next := acquire(t, other, "other", fencehold.WithMaxWait(5*time.Second))
	within(t, "the grant by the new primary", time.Since(swapped), 5*time.Second)
	before := lease.Expires()
	eventually(t, "the lease is renewed at the new primary, or lost", func() bool {
		return lease.Err() != nil || lease.Expires().After(before)
	})
	if err := lease.Err(); err != nil {
		t.Fatal(err)
	}
	if left := pttl(t, set.Primary(), "lock:job"); left < 3*time.Second || set.Primary() == old {
		t.Errorf("%v left at the new primary", left)
	}
	release(t, next)
	release(t, lease)
	if n := exists(set.Primary(), "lock:job", "lock:other"); n != "0" {
		t.Errorf("%s locks left", n)
	}
}

func TestB46ReplicaAlone(t *testing.T) {
	t.Parallel()
	replica := testcluster.StartReplica(t, testcluster.StartRedis(t))
	client := openClient(t, replica.URL())
	for name, ask := range map[string]func(*fencehold.Mutex, context.Context) (*fencehold.Lease, error){
		"try": (*fencehold.Mutex).TryAcquire, "acquire": (*fencehold.Mutex).Acquire,
	} {
		began := time.Now()
		_, err := ask(client.Mutex("job"), bounded(t))
		mustBe(t, err, fencehold.ErrUnavailable)
		within(t, name, time.Since(began), time.Second)
		if !strings.Contains(err.Error(), "replica") {
			t.Errorf("%s: error %q does not name the replica", name, err)
		}
	}
}
