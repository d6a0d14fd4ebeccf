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

// TestB46ReplicaAsANode: a replica is named, and does not vote.
func TestB46ReplicaAsANode(t *testing.T) {
	t.Parallel()
	primary := testcluster.StartRedis(t)
	replicas := set{testcluster.StartReplica(t, primary), testcluster.StartReplica(t, primary)}
	single := startSet(t, 1)
	sets := map[string]set{
		"of a server outside": append(single, replicas...),
		"of a server inside":  append(set{primary}, replicas...),
	}
	for name, s := range sets {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			a, err := fencehold.Open(bounded(t), s.url(time.Minute))
			if err == nil {
				t.Cleanup(func() { _ = a.Close() })
				began = time.Now()
				_, err = a.Mutex(job).TryAcquire(bounded(t))
				_, second := a.Mutex(job).Acquire(bounded(t))
				mustName(t, second, "replica")
			}
			within(t, "the refusal", time.Since(began), time.Second)
			mustName(t, err, "replica")
			for _, server := range s {
				if v := value(server); v != "" {
					t.Errorf("left behind: %q", v)
				}
			}
		})
	}
}

// mustName fails unless an error says that the set cannot be used, and why.
func mustName(t *testing.T, err error, why string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	mustBe(t, err, fencehold.ErrUnavailable)
	if !strings.Contains(err.Error(), why) {
		t.Errorf("error %q does not name the %s", err, why)
	}
}

// TestB46OneReplica: a minority of replicas costs no more than servers that are down.
func TestB46OneReplica(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	a := opener(t, s.url(time.Minute))
	cycle(t, a, "founding")
	s[2].Do("REPLICAOF", "127.0.0.1", fmt.Sprint(testcluster.StartRedis(t).Port()))
	lease := acquire(t, a, job)
	if err := lease.Extend(bounded(t), 10*time.Second); err != nil {
		t.Error(err)
	}
	release(t, lease)
	s[:2].nothingLeft(t, time.Second)
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
