package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// counterKey is where a node keeps the last number.
const counterKey = "lock:fh!h"

// A lock whose nodes have different numbers is resumed under its token: the answers
// of a majority need not show it, those of all nodes do.
func TestFoundResumeOfDifferentNumbers(t *testing.T) {
	s := startSet(t, 3)
	a := s.peer(t)
	s[2].Do("SET", counterKey, fmt.Sprint(time.Now().Add(30*time.Second).UnixMicro()))
	held := a.proxies[2].HoldRequests(jobKey)
	grant, err := a.backend.TryAcquire(bounded(t), request(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	held.Release()
	poll(t, "the third server to have it", func() bool { return value(s[2]) != "" })
	b := s.peer(t)
	b.proxies[1].Delay(20 * time.Millisecond) // the two that differ answer first
	got, err := b.backend.(driver.Resumer).Resume(bounded(t), job, grant.Holder)
	if err != nil || got.Token != grant.Token {
		t.Errorf("resumed with token %v, %v, want %v", got.Token, err, grant.Token)
	}
}

// A node that is handed the lock late counts as long as it has it: a hand-over is
// short, and is made as long as the rest.
func TestFoundRedundancyAfterALateHandOver(t *testing.T) {
	s := startSet(t, 3)
	holder := s.peer(t)
	lease := acquire(t, holder.Client, job)
	w := s.peer(t, fencehold.WithTTL(30*time.Second))
	next := waiting(bounded(t), t, w.Client)
	s.inLine(t, "1")
	late := holder.proxies[2].HoldRequests(jobKey)
	release(t, lease)
	o := granted(t, next)
	late.Release()
	poll(t, "one to spare", func() bool { spare, known := o.lease.Redundancy(); return known && spare == 1 })
	time.Sleep(1500 * time.Millisecond) // longer than a hand-over lasts
	if spare, known := o.lease.Redundancy(); !known || spare != 1 || !has(s[2], o.lease.Fence().Holder) {
		t.Errorf("%d to spare, known %v; the third server has %q", spare, known, value(s[2]))
	}
}

// A server that is in the set twice is found out also where one of its addresses can
// be connected to only later.
func TestFoundLateAlias(t *testing.T) {
	s := startSet(t, 3)
	release(t, acquire(t, s.client(t, 10*time.Second), job))
	alias := testcluster.StartProxy(t, s[1].Addr())
	alias.Refuse()
	b := open(t, []string{s[0].URL(), s[1].URL(), "redis://" + alias.Addr()}, redlock.Options{MaxTTL: 10 * time.Second})
	defer func() { _ = b.Close() }()
	alias.Heal()
	s[0].Kill()
	poll(t, "a refusal", func() bool {
		grant, err := b.TryAcquire(bounded(t), request(5*time.Second))
		if err == nil {
			t.Fatalf("granted %v by one server alone", grant.Token)
		}
		return strings.Contains(err.Error(), "the same server")
	})
}

// Closing does not wait for a server that is silent.
func TestFoundCloseBesideASilentServer(t *testing.T) {
	s := startSet(t, 3)
	for _, limit := range []time.Duration{0, 20 * time.Second} {
		p := s.peerWith(t, redlock.Options{NodeTimeout: limit})
		p.proxies[2].Cut()
		release(t, acquire(t, p.Client, job))
		began := time.Now()
		_ = p.Close()
		within(t, fmt.Sprintf("closing with a node timeout of %v", limit), time.Since(began), 3*time.Second)
	}
}

// One damaged counter takes one server out, and not the set.
func TestFoundDamagedCounter(t *testing.T) {
	for _, bad := range []string{"9007199254740991", "9007199254740989", "abc", "1e300", "-5", ""} {
		s := startSet(t, 3)
		p := s.peer(t)
		s[1].Do("SET", counterKey, bad)
		for range 10 {
			release(t, acquire(t, p.Client, job))
		}
	}
}

// Waiters that meet for a free lock while a server is down wait for each other.
func TestFoundWaitingBesideADeadServer(t *testing.T) {
	s := startSet(t, 3)
	clients := []*fencehold.Client{s.client(t, 10*time.Second), s.client(t, 10*time.Second)}
	for _, c := range clients {
		release(t, acquire(t, c, "warm up"))
	}
	s[2].Kill()
	var failed atomic.Int32
	for i := range rounds(40) {
		name := fmt.Sprint("fresh ", i)
		var waiting sync.WaitGroup
		for _, c := range clients {
			waiting.Go(func() {
				lease, err := c.Mutex(name).Acquire(bounded(t))
				if err != nil {
					failed.Add(1)
					t.Log(err)
					return
				}
				_ = lease.Release(context.Background())
			})
		}
		waiting.Wait()
	}
	if n := failed.Load(); n > 0 {
		t.Errorf("%d waits ended with an error", n)
	}
}
