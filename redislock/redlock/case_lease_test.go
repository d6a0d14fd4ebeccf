package redlock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// A renewal under way when the lock goes to another is TestRace07LateRenewal.
func TestB02RenewalOfAnExpiredLock(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	p := s.peer(t)
	b := s.peer(t)
	for name, between := range map[string]func(){
		"nobody came": func() {},
		"B came":      func() { release(t, acquire(t, b.Client, job)); s.free(t) },
	} {
		t.Run(name, func(t *testing.T) {
			grant := s.expired(t, p.backend, 300*time.Millisecond)
			between()
			before := s.counters()
			_, err := p.backend.Renew(bounded(t), grant, time.Second)
			mustBe(t, err, fencehold.ErrLost)
			s.mustStayFree(t, 100*time.Millisecond)
			if now := s.counters(); !slices.Equal(now, before) {
				t.Errorf("the renewal moved the counters from %v to %v", before, now)
			}
		})
	}
}

func TestB02RenewalOfADeletedLock(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	p := s.peer(t, fencehold.WithoutRenewal())
	lease := acquire(t, p.Client, job)
	s.everywhere(t, lease)
	before := s.counters()
	for _, server := range s {
		server.Do("DEL", jobKey)
	}
	mustBeLost(t, lease.Extend(bounded(t), 10*time.Second), fencehold.ReasonDeleted)
	if lease.Valid() {
		t.Error("still held")
	}
	s.mustStayFree(t, 100*time.Millisecond)
	if now := s.counters(); !slices.Equal(now, before) {
		t.Errorf("the renewal moved the counters from %v to %v", before, now)
	}
}

func TestB09OutcomesOfRelease(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	a := s.peer(t, fencehold.WithTTL(200*time.Millisecond), fencehold.WithoutRenewal())
	b := s.peer(t, fencehold.WithOwner("B"), fencehold.WithTTL(limit))
	for _, row := range []struct {
		name string
		then func(t *testing.T)
		want fencehold.Reason
	}{
		{"nobody took it", func(*testing.T) {}, fencehold.ReasonExpired},
		{"B took it", func(t *testing.T) { s.everywhere(t, acquire(t, b.Client, job)) }, fencehold.ReasonTakenOver},
	} {
		t.Run(row.name, func(t *testing.T) {
			lease := acquire(t, a.Client, job)
			s.free(t)
			row.then(t)
			values, sent, began := s.values(), a.count(), time.Now()
			err := lease.Release(bounded(t))
			within(t, "the release", time.Since(began), 100*time.Millisecond)
			mustBeLost(t, err, row.want)
			if n := sent.most(); n > 1 {
				t.Errorf("%d requests to one server for one release", n)
			}
			if now := s.values(); !slices.Equal(now, values) {
				t.Errorf("the values became %q, were %q", now, values)
			}
		})
	}
}

func TestB09SecondReleaseAndNone(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	a := s.peer(t)
	lease := acquire(t, a.Client, job)
	s.everywhere(t, lease)
	release(t, lease)
	s.free(t)
	sent := a.count()
	release(t, lease)
	if n := sent.most(); n != 0 {
		t.Errorf("%d requests for a second release", n)
	}

	s.everywhere(t, acquire(t, s.peer(t).Client, job))
	values := s.values()
	none, err := a.Mutex(job).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	// The third server may answer the attempt after its end.
	poll(t, "the attempt has passed", func() bool { return sent[0].Load()+sent[1].Load()+sent[2].Load() >= 3 })
	sent = a.count()
	if err := none.Release(bounded(t)); none != nil || err != nil {
		t.Errorf("a failed acquire returned %v, whose release says %v", none, err)
	}
	if n, now := sent.most(), s.values(); n != 0 || !slices.Equal(now, values) {
		t.Errorf("%d requests for the release of nothing, values %q", n, now)
	}
}

// Answers that come when the lease is over are TestRace05AnswersTooLate, too.
func TestB27SlowGrant(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	for name, patience := range map[string]time.Duration{"waited for": time.Second, "not waited for": 0} {
		t.Run(name, func(t *testing.T) {
			a := s.peerWith(t, redlock.Options{NodeTimeout: patience})
			for _, proxy := range a.proxies {
				proxy.Delay(300 * time.Millisecond)
			}
			_, err := a.Mutex(job, fencehold.WithTTL(200*time.Millisecond)).TryAcquire(bounded(t))
			mustBe(t, err, fencehold.ErrUnavailable)
			if patience > 0 && !strings.Contains(err.Error(), "ran out while it was being acquired") {
				t.Errorf("error %q does not say why", err)
			}
			// Requests that are still delayed may take the lock for a moment.
			for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
				s.values()
			}
			s.nothingLeft(t, 100*time.Millisecond)
		})
	}
}

func TestB27SlowRenewal(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	for name, patience := range map[string]time.Duration{"waited for": time.Second, "not waited for": 0} {
		t.Run(name, func(t *testing.T) {
			a := s.peerWith(t, redlock.Options{NodeTimeout: patience}, fencehold.WithTTL(time.Second))
			lease := acquire(t, a.Client, job)
			for _, proxy := range a.proxies {
				proxy.Delay(1200 * time.Millisecond)
			}
			slow := time.Now() // no renewal that came through began later
			closes(t, "the loss", lease.Done(), time.Second)
			mustBeLost(t, lease.Err(), fencehold.ReasonUnreachable)
			if lease.Valid() || time.Since(slow) > time.Second+slack {
				t.Errorf("valid: %v, %v after the last renewal", lease.Valid(), time.Since(slow))
			}
			mustBe(t, lease.Extend(bounded(t), time.Second), fencehold.ErrLost)
			for _, proxy := range a.proxies {
				proxy.Delay(0)
			}
			s.nothingLeft(t, 2500*time.Millisecond)
		})
	}
}

// TestB27GrantAfterAWait: the wait is not counted as a part of the lease, whether the
// lock was handed over or has expired.
func TestB27GrantAfterAWait(t *testing.T) {
	t.Parallel()
	for _, handed := range []bool{true, false} {
		s := startSet(t, 3)
		a := s.peer(t, fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
		b := s.peer(t, fencehold.WithTTL(time.Second), fencehold.WithoutRenewal())
		began := time.Now()
		lease := acquire(t, a.Client, job)
		if handed {
			time.AfterFunc(1900*time.Millisecond, func() { _ = lease.Release(bounded(t)) })
		}
		next := acquire(t, b.Client, job)
		if left := time.Until(next.Expires()); left < 800*time.Millisecond || left > time.Second {
			t.Errorf("handed %v: %v of 1s left after a wait of %v", handed, left, time.Since(began))
		}
		if took := time.Since(began); took < 1500*time.Millisecond {
			t.Errorf("granted after %v", took)
		}
		for half := time.Now().Add(500 * time.Millisecond); time.Now().Before(half) && next.Valid(); {
			time.Sleep(10 * time.Millisecond)
		}
		if err := next.Extend(bounded(t), time.Second); err != nil {
			t.Errorf("a renewal after half of the TTL: %v", err)
		}
		if left := time.Until(next.Expires()); left < 800*time.Millisecond {
			t.Errorf("%v left after the renewal", left)
		}
		release(t, next)
	}
}

func TestB27SlowCheck(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	a := s.peer(t, fencehold.WithTTL(time.Second))
	lease := acquire(t, a.Client, job)
	other := s.peer(t)
	a.proxies[3].DelayReplies(3 * time.Second)
	other.proxies[1].DelayReplies(3 * time.Second)
	timed := func(what string, check func() error) {
		began := time.Now()
		if err := check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		within(t, what, time.Since(began), time.Second)
	}
	timed("asking the lease", lease.Err)
	timed("an extension", func() error { return lease.Extend(bounded(t), time.Second) })
	timed("finding the lease again", func() error {
		_, err := other.Resume(bounded(t), lease.Fence(), fencehold.WithoutRenewal())
		return err
	})
	for _, proxy := range a.proxies {
		proxy.Cut()
	}
	for valid := true; valid; time.Sleep(time.Millisecond) {
		// Whoever is told "valid" was told so before the end.
		valid = lease.Valid()
		if asked := time.Now(); valid && asked.After(lease.Expires().Add(slack)) {
			t.Fatalf("valid %v after the end", asked.Sub(lease.Expires()))
		}
	}
	mustBeLost(t, lease.Err(), fencehold.ReasonUnreachable)
	for _, proxy := range a.proxies {
		proxy.Heal()
	}
}
