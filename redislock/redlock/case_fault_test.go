package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// TestB17LostAnswers: the answers of one server are lost, or of a majority, once or
// twice. What the driver makes of it is TestRace02LostAnswers.
func TestB17LostAnswers(t *testing.T) {
	t.Parallel()
	for way, ask := range asking {
		for _, servers := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%s, %d servers", way, servers), func(t *testing.T) {
				t.Parallel()
				s := startSet(t, 3)
				a, b := s.peer(t), s.peer(t)
				last := lostOnce(t, s, a, servers, ask)
				lostTwice(t, s, a, servers, ask)
				highest := s.highest()
				next := acquire(t, b.Client, job)
				if next.Token() <= last || int64(next.Token()) <= highest {
					t.Errorf("token %v after %v, counters up to %d", next.Token(), last, highest)
				}
				release(t, next)
			})
		}
	}
}

type ask = func(*fencehold.Mutex, context.Context) (*fencehold.Lease, error)

// lostOnce is the first run: the lock is granted all the same.
func lostOnce(t *testing.T, s set, a *peer, servers int, ask ask) fence.Token {
	t.Helper()
	for _, proxy := range a.proxies[:servers] {
		proxy.SwallowReply(jobKey, 1)
	}
	began := time.Now()
	lease, err := ask(a.Mutex(job), bounded(t))
	if err != nil {
		t.Fatalf("one lost answer: %v", err)
	}
	within(t, "the grant", time.Since(began), time.Second)
	if n := s.having(lease); n < 2 {
		t.Errorf("%d servers have the lock", n)
	}
	release(t, lease)
	s.nothingLeft(t, time.Second)
	return lease.Token()
}

// lostTwice is the second run: without a majority nothing is granted, and nothing stays.
func lostTwice(t *testing.T, s set, a *peer, servers int, ask ask) {
	t.Helper()
	for _, proxy := range a.proxies[:servers] {
		proxy.SwallowReply(jobKey, 2)
	}
	lease, err := ask(a.Mutex(job), bounded(t))
	if servers >= 2 {
		mustBe(t, err, fencehold.ErrUnavailable)
	} else if err != nil {
		t.Fatalf("one server of three: %v", err)
	}
	if err := lease.Release(bounded(t)); err != nil {
		t.Error(err)
	}
	s.nothingLeft(t, time.Second)
}

// having returns how many servers have the lock with the token of a lease.
func (s set) having(lease *fencehold.Lease) (n int) {
	for _, server := range s {
		if strings.HasPrefix(value(server), "fh1:"+lease.Fence().Holder+":"+lease.Token().String()+":") {
			n++
		}
	}
	return n
}

// TestB46ReplicaAsANode: a replica in the place of a server is a mistake in the URLs.
func TestB46ReplicaAsANode(t *testing.T) {
	t.Parallel()
	s := startSet(t, 2)
	outside, inside := testcluster.StartReplica(t, testcluster.StartRedis(t)), testcluster.StartReplica(t, s[0])
	for name, nodes := range map[string]set{
		"one":             {s[0], s[1], outside},
		"of another node": {s[0], inside, s[1]},
		"two":             {s[0], inside, outside},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := fencehold.Open(bounded(t), nodes.url(time.Minute))
			within(t, "the refusal", time.Since(began), time.Second)
			mustBe(t, err, fencehold.ErrInvalid)
			if !strings.Contains(err.Error(), "replica") {
				t.Errorf("error %q does not name the replica", err)
			}
		})
	}
	for i, server := range s {
		if keys := server.Do("KEYS", "*"); keys != "" {
			t.Errorf("server %d has %s", i, keys)
		}
	}
}

// TestB46BecomesReplica: two servers of three are made replicas while a client uses
// them; one is nothing that is noticed. That they repeat what the first one says makes
// no majority.
func TestB46BecomesReplica(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	a := opener(t, s.url(time.Minute))
	cycle(t, a, "founding")
	s.demote(t, 2)
	lease := acquire(t, a, job)
	if err := lease.Extend(bounded(t), 10*time.Second); err != nil {
		t.Error(err)
	}
	release(t, lease)
	s[:2].nothingLeft(t, time.Second)

	s.demote(t, 1)
	for way, ask := range asking {
		began := time.Now()
		_, err := ask(a.Mutex(job), bounded(t))
		within(t, way, time.Since(began), time.Second)
		mustBe(t, err, fencehold.ErrUnavailable)
		if !strings.Contains(err.Error(), "is a replica") {
			t.Errorf("%s: error %q does not name a replica", way, err)
		}
		s[:1].nothingLeft(t, time.Second)
	}
}

// demote makes a server a replica of the first.
func (s set) demote(t *testing.T, i int) {
	t.Helper()
	s[i].Do("REPLICAOF", "127.0.0.1", fmt.Sprint(s[0].Port()))
	poll(t, "it follows the first", func() bool {
		return strings.Contains(s[i].Do("INFO", "replication"), "master_link_status:up")
	})
}

// TestB50ScriptsAreFlushed: before each request of each kind, at every server.
func TestB50ScriptsAreFlushed(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	a, b := s.peer(t, fencehold.WithTTL(2*time.Second)), s.peer(t, fencehold.WithTTL(2*time.Second))
	var flushed atomic.Int32
	for _, p := range []*peer{a, b} {
		for i, proxy := range p.proxies {
			proxy.OnRequest(func(request []byte) {
				if strings.Contains(string(request), "EVALSHA") {
					s[i].Do("SCRIPT", "FLUSH")
					flushed.Add(1)
				}
			})
		}
	}
	lease := acquire(t, a.Client, job)
	next := waiting(bounded(t), t, b.Client)
	s.inLine(t, "1")
	awaitRenewal(t, lease)
	awaitRenewal(t, lease)
	if err := lease.Extend(bounded(t), 2*time.Second); err != nil {
		t.Error(err)
	}
	_, err := b.Mutex(job).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	release(t, lease)
	release(t, granted(t, next).lease)
	s.nothingLeft(t, time.Second)
	if n := flushed.Load(); n < 30 {
		t.Errorf("%d scripts met an empty cache", n)
	}
}

// TestB50ServersAreFlushed: two of five forget everything, which changes nothing. When
// they vote again is TestEmptiedMinority, and a majority that forgets TestMajorityLost.
func TestB50ServersAreFlushed(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(*testcluster.Redis){
		"FLUSHALL": func(r *testcluster.Redis) { r.Do("FLUSHALL") }, "restart": (*testcluster.Redis).Restart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSet(t, 5)
			a, b := s.peer(t, fencehold.WithTTL(2*time.Second)), s.peer(t)
			before := acquire(t, a.Client, job)
			s.everywhere(t, before)
			empty(s[1])
			empty(s[4])
			_, err := b.Mutex(job).TryAcquire(bounded(t))
			mustBe(t, err, fencehold.ErrHeld)
			awaitRenewal(t, before)
			if err := before.Extend(bounded(t), 2*time.Second); err != nil {
				t.Error(err)
			}
			release(t, before)
			after := acquire(t, b.Client, job)
			if after.Token() <= before.Token() {
				t.Errorf("token %v after %v", after.Token(), before.Token())
			}
			if value(s[1])+value(s[4]) != "" {
				t.Error("a server without memory has granted the lock")
			}
			release(t, after)
			s.nothingLeft(t, time.Second)
		})
	}
}

// TestB60Password: a wrong password is told apart, and not shown.
func TestB60Password(t *testing.T) {
	t.Parallel()
	const password, encoded = "p@s/s+#%=:w rd", "p%40s%2Fs%2B%23%25%3D%3Aw%20rd"
	s := make(set, 3)
	var addrs []string
	for i := range s {
		s[i] = testcluster.StartRedis(t, testcluster.Password(password))
		addrs = append(addrs, s[i].Addr())
	}
	hosts := strings.Join(addrs, ",")
	cycle(t, opener(t, "redlock://:"+encoded+"@"+hosts), job)
	for _, url := range []string{
		"redlock://:" + encoded + "wrong@" + hosts, "redlock://" + hosts, "redlock://:" + password + "@" + hosts,
		"redlock://:" + encoded + "@" + hosts + "/abc",
	} {
		began := time.Now()
		c, err := fencehold.Open(bounded(t), url)
		if err == nil {
			_, err = c.Mutex(job).TryAcquire(bounded(t))
			_ = c.Close()
		}
		within(t, "the refusal", time.Since(began), 2*time.Second)
		if err == nil {
			t.Fatal("let in without the password")
		}
		if strings.Contains(err.Error(), password) || strings.Contains(err.Error(), encoded) {
			t.Error("the error shows the password")
		}
	}
}
