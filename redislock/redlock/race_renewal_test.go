package redlock_test

import (
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// A renewal comes when the lock has gone to another: it is a loss, and the other
// keeps the lock.
func TestRace07LateRenewal(t *testing.T) {
	s := startSet(t, 3)
	p, other := s.peerWith(t, redlock.Options{NodeTimeout: 5 * time.Second}), s.peer(t)
	grant, err := p.backend.TryAcquire(bounded(t), request(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	holds := []interface{ Release() }{}
	for _, proxy := range p.proxies {
		holds = append(holds, proxy.HoldRequests(jobKey))
	}
	renewed := make(chan error, 1)
	go func() {
		_, err := p.backend.Renew(bounded(t), grant, 10*time.Second)
		renewed <- err
	}()
	next := acquire(t, other.Client, job)
	for _, h := range holds {
		h.Release()
	}
	mustBe(t, <-renewed, fencehold.ErrLost)
	for _, server := range s {
		if !has(server, next.Fence().Holder) {
			t.Errorf("the value of the next holder is %q", value(server))
		}
	}
	release(t, next)
	s.free(t)
}

// A node that has lost the value gets it back with the next renewal.
func TestMend(t *testing.T) {
	s := startSet(t, 3)
	p := s.peer(t)
	lease := acquire(t, p.Client, job)
	s.everywhere(t, lease)
	s[1].Do("DEL", jobKey)
	s[1].Do("SET", "lock:fh!h", "1")
	if err := lease.Extend(bounded(t), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	poll(t, "the value is back", func() bool { return has(s[1], lease.Fence().Holder) })
	if counter := s[1].Do("GET", "lock:fh!h"); counter != lease.Token().String() {
		t.Errorf("the counter of the mended node is %s, the token %v", counter, lease.Token())
	}
	if value(s[1]) != value(s[0]) {
		t.Errorf("mended as %q, the others have %q", value(s[1]), value(s[0]))
	}
	poll(t, "all nodes count again", func() bool {
		spare, known := lease.Redundancy()
		return known && spare == 1
	})
	release(t, lease)
	s.free(t)
}

// A value is put back when the lease is over: it overwrites nobody, and goes at once.
func TestRace08LateMend(t *testing.T) {
	s := startSet(t, 3)
	p := s.peerWith(t, redlock.Options{NodeTimeout: 500 * time.Millisecond}, fencehold.WithoutRenewal())
	for _, taken := range []bool{false, true} {
		lease := acquire(t, p.Client, job)
		s.everywhere(t, lease)
		s[2].Do("DEL", jobKey)
		late := p.proxies[2].HoldRequests(redlock.MendSHA)
		if err := lease.Extend(bounded(t), 20*time.Second); err != nil {
			t.Fatal(err)
		}
		seen(t, "the mend", late)
		release(t, lease)
		if !taken {
			late.Release()
			start := time.Now()
			s.free(t)
			within(t, "releasing what was put back too late", time.Since(start), 500*time.Millisecond)
			continue
		}
		next := acquire(t, s.peer(t).Client, job)
		late.Release()
		if err := next.Extend(bounded(t), 20*time.Second); err != nil {
			t.Fatal(err)
		}
		poll(t, "the next holder has all nodes", func() bool {
			return has(s[0], next.Fence().Holder) && has(s[1], next.Fence().Holder) && has(s[2], next.Fence().Holder)
		})
		release(t, next)
	}
}

// A node forgets its vote under a holder with a bare majority: it does not vote, and
// nobody else is granted.
func TestRace09ForgottenVote(t *testing.T) {
	s := startSet(t, 3)
	p, other := s.peer(t, fencehold.WithoutRenewal()), s.peer(t)
	s[2].Do("SET", jobKey, "a stranger's", "PX", "60000")
	lease := acquire(t, p.Client, job)
	s[2].Do("DEL", jobKey)
	s[1].Do("FLUSHALL")
	for range 3 {
		if _, err := other.Mutex(job).TryAcquire(bounded(t)); err == nil {
			t.Fatal("granted by the vote of a node that has lost its memory")
		}
	}
	if !lease.Valid() {
		t.Errorf("the holder lost the lock: %v", lease.Err())
	}
	_ = lease.Release(bounded(t))
}

// A holder whose renewals find the lock gone on a majority is told, and what is left
// of it is released.
func TestLostOnAMajority(t *testing.T) {
	s := startSet(t, 3)
	p := s.peer(t)
	lease := acquire(t, p.Client, job)
	s.everywhere(t, lease)
	s[0].Do("DEL", jobKey)
	s[1].Do("DEL", jobKey)
	mustBe(t, lease.Extend(bounded(t), 10*time.Second), fencehold.ErrLost)
	s.free(t)
}

// The hook and Redundancy say when no node is to spare.
func TestRedundancy(t *testing.T) {
	s := startSet(t, 3)
	bare := make(chan struct{}, 10)
	p := s.peer(t, fencehold.WithTTL(2*time.Second), fencehold.WithHooks(fencehold.Hooks{
		RedundancyLost: func(fencehold.Event) { bare <- struct{}{} },
	}))
	lease := acquire(t, p.Client, job)
	poll(t, "one to spare", func() bool {
		spare, known := lease.Redundancy()
		return known && spare == 1
	})
	s[1].Kill()
	select {
	case <-bare:
	case <-time.After(limit):
		t.Fatal("nobody was told")
	}
	if spare, known := lease.Redundancy(); !known || spare != 0 {
		t.Errorf("%d nodes to spare, %v; want 0", spare, known)
	}
	release(t, lease)
}
