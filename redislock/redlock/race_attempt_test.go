package redlock_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// Two attempts get a node each, and a stranger has the third: neither is granted, and
// both give back what they got.
func TestRace01AttemptsOfWhichNoneHasAMajority(t *testing.T) {
	s := startSet(t, 3)
	a, b := s.peer(t), s.peer(t)
	s[2].Do("SET", jobKey, "a stranger's", "PX", "60000")
	heldA, heldB := a.proxies[1].HoldRequests(jobKey), b.proxies[0].HoldRequests(jobKey)
	failed := make(chan error, 2)
	for _, p := range []*peer{a, b} {
		go func() {
			_, err := p.Mutex(job).TryAcquire(bounded(t))
			failed <- err
		}()
	}
	poll(t, "each has a node", func() bool { return value(s[0]) != "" && value(s[1]) != "" })
	heldA.Release()
	heldB.Release()
	for range 2 {
		mustBe(t, <-failed, fencehold.ErrHeld)
	}
	s[2].Do("DEL", jobKey)
	s.free(t)
}

// The answers of a majority are lost. The same holder asks again and gets its grant;
// one that does not is released.
func TestRace02LostAnswers(t *testing.T) {
	s := startSet(t, 3)
	p := s.peer(t)
	for _, again := range []bool{true, false} {
		for _, proxy := range p.proxies[:2] {
			proxy.SwallowReply(jobKey, 1)
		}
		req := request(20 * time.Second)
		_, err := p.backend.TryAcquire(bounded(t), req)
		if err == nil || errors.Is(err, fencehold.ErrHeld) {
			t.Fatalf("an attempt without answers: %v", err)
		}
		if !again {
			start := time.Now()
			s.free(t)
			within(t, "undoing an attempt without answers", time.Since(start), time.Second)
			continue
		}
		var grant driver.Grant
		poll(t, "the grant", func() bool {
			grant, err = p.backend.TryAcquire(bounded(t), req)
			return err == nil
		})
		_, err = s.peer(t).Mutex(job).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrHeld)
		// A release of the first attempt that came late would show by now.
		if _, err := p.backend.Renew(bounded(t), grant, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		if err := p.backend.Release(bounded(t), grant, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// spread sets the counters of the nodes apart, so that each gives out another number.
func (s set) spread(t testing.TB) {
	t.Helper()
	for i, server := range s {
		ahead := time.Duration(len(s)-i) * 10 * time.Second
		server.Do("SET", "lock:fh!h", fmt.Sprint(time.Now().Add(ahead).UnixMicro()))
	}
}

// Nodes that give out different numbers settle on the largest, which a majority then
// has, and later tokens are above it.
func TestDifferentNumbersAreSettled(t *testing.T) {
	s := startSet(t, 5)
	p := s.peer(t)
	last := fence.Token(0)
	s.spread(t)
	for range 5 {
		for i, server := range s {
			server.Do("INCRBY", "lock:fh!h", fmt.Sprint(1000*(i+1)))
		}
		lease := acquire(t, p.Client, job)
		if lease.Token() <= last {
			t.Fatalf("token %v after %v", lease.Token(), last)
		}
		last = lease.Token()
		agreed, counted := 0, 0
		for _, server := range s {
			if strings.Contains(value(server), ":"+last.String()+":") {
				agreed++
			}
			if server.Do("GET", "lock:fh!h") >= last.String() {
				counted++
			}
		}
		if agreed < 3 || counted < 3 {
			t.Errorf("token %v is in %d values, and %d counters are not below it", last, agreed, counted)
		}
		release(t, lease)
	}
}

// The second round meets values that have expired, and locks that others have had
// since: the attempt fails.
func TestRace04ExpiredBetweenTheRounds(t *testing.T) {
	s := startSet(t, 3)
	p := s.peerWith(t, redlock.Options{NodeTimeout: 5 * time.Second})
	s.spread(t)
	holds := []interface{ Release() }{}
	for _, proxy := range p.proxies {
		holds = append(holds, proxy.HoldRequests(redlock.SettleSHA))
	}
	failed := make(chan error, 1)
	go func() {
		_, err := p.backend.TryAcquire(bounded(t), request(300*time.Millisecond))
		failed <- err
	}()
	poll(t, "the first round", func() bool { return value(s[0]) != "" && value(s[1]) != "" && value(s[2]) != "" })
	s.free(t)
	other := acquire(t, s.peer(t).Client, job)
	for _, h := range holds {
		h.Release()
	}
	if err := <-failed; err == nil {
		t.Fatal("granted although the lock had gone to another")
	}
	if err := other.Extend(bounded(t), 10*time.Second); err != nil {
		t.Fatalf("the other holder: %v", err)
	}
	release(t, other)
}

// The answers come when the lease is over: there is none, and nothing stays.
func TestRace05AnswersTooLate(t *testing.T) {
	s := startSet(t, 3)
	p := s.peerWith(t, redlock.Options{NodeTimeout: 5 * time.Second})
	for _, proxy := range p.proxies {
		proxy.DelayReplies(300 * time.Millisecond)
	}
	lease, err := p.Mutex(job, fencehold.WithTTL(200*time.Millisecond)).TryAcquire(bounded(t))
	if err == nil {
		t.Fatalf("granted with %v left", time.Until(lease.Expires()))
	}
	mustBe(t, err, fencehold.ErrUnavailable)
	s.free(t)
}

// A node that answers after the decision counts for a grant, and gives back where
// there was none.
func TestRace06AnswerAfterTheDecision(t *testing.T) {
	s := startSet(t, 3)
	p := s.peer(t)
	late := p.proxies[2].HoldRequests(jobKey)
	lease := acquire(t, p.Client, job)
	seen(t, "the request to the third node", late)
	if spare, known := lease.Redundancy(); known {
		t.Errorf("%d nodes to spare are known before the third has answered", spare)
	}
	late.Release()
	poll(t, "the third node counts", func() bool {
		spare, known := lease.Redundancy()
		return known && spare == 1
	})

	s[2].Do("DEL", jobKey)
	other := s.peer(t)
	late = other.proxies[2].HoldRequests(jobKey)
	_, err := other.Mutex(job).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	late.Release()
	requests := make(chan struct{}, 100)
	other.proxies[2].OnRequest(func(b []byte) {
		if strings.Contains(string(b), jobKey) {
			requests <- struct{}{}
		}
	})
	<-requests // what was granted there is released
	poll(t, "the third node is free", func() bool { return s[2].Do("EXISTS", jobKey) == "0" })
	if !lease.Valid() {
		t.Errorf("the holder lost the lock: %v", lease.Err())
	}
	release(t, lease)
}

// A set with a node that is down, and one that is silent, works without waiting for
// them.
func TestSilentMinority(t *testing.T) {
	s := startSet(t, 5)
	p := s.peerWith(t, redlock.Options{NodeTimeout: 5 * time.Second})
	s[0].Kill()
	p.proxies[1].Cut()
	start := time.Now()
	for range 5 {
		release(t, acquire(t, p.Client, job))
	}
	within(t, "five cycles beside dead nodes", time.Since(start), 500*time.Millisecond)
	p.proxies[2].Reset()
	p.proxies[2].Refuse()
	p.proxies[1].Heal()
	poll(t, "three of the five are there again", func() bool {
		_, err := p.Mutex("another").TryAcquire(bounded(t))
		return err == nil
	})
}

// An error names the nodes, and what each of them said.
func TestMajorityDown(t *testing.T) {
	s := startSet(t, 3)
	p := s.peer(t)
	s[0].Kill()
	s[1].Kill()
	_, err := p.Mutex(job).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrUnavailable)
	for _, proxy := range p.proxies[:2] {
		if !strings.Contains(err.Error(), proxy.Addr()) {
			t.Errorf("error %q does not name %s", err, proxy.Addr())
		}
	}
}

// Two URLs of one server would vote twice.
func TestRace18SameServerTwice(t *testing.T) {
	s := startSet(t, 2)
	proxy := startProxyURL(t, s[1])
	_, err := redlock.Open(bounded(t), s[0].URL(), s[1].URL(), proxy)
	mustBe(t, err, fencehold.ErrInvalid)
	if !strings.Contains(err.Error(), "same server") {
		t.Errorf("error %q does not say why", err)
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, c := range []struct {
		urls []string
		opts redlock.Options
	}{
		{[]string{"redis://a", "redis://b"}, redlock.Options{}},
		{[]string{"redis://a", "redis://b", "redis://c", "redis://d"}, redlock.Options{}},
		{[]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{Prefix: "a\nb"}},
		{[]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{Prefix: "x", NoPrefix: true}},
		{[]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{MaxTTL: time.Microsecond}},
		{[]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{Drift: 0.9}},
		{[]string{"redis://a", "redis://b", "redis://c"}, redlock.Options{NodeTimeout: -1}},
	} {
		_, err := redlock.OpenWith(bounded(t), c.opts, c.urls...)
		mustBe(t, err, fencehold.ErrInvalid)
	}
	_, err := redlock.New(nil, nil)
	mustBe(t, err, fencehold.ErrInvalid)
	_, err = redlock.NewConns(nil, nil)
	mustBe(t, err, fencehold.ErrInvalid)
}

// A TTL beyond that of the set is refused before anything is sent.
func TestTTLBeyondTheSet(t *testing.T) {
	p := startSet(t, 3).peer(t)
	var sent atomic.Int32
	for _, proxy := range p.proxies {
		proxy.OnRequest(func(b []byte) {
			if strings.Contains(string(b), jobKey) {
				sent.Add(1)
			}
		})
	}
	_, err := p.backend.TryAcquire(bounded(t), request(time.Minute+time.Millisecond))
	mustBe(t, err, fencehold.ErrInvalid)
	_, err = p.backend.(driver.Queuer).Acquire(bounded(t), request(time.Hour))
	mustBe(t, err, fencehold.ErrInvalid)
	if n := sent.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
