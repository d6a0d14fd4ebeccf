package redlock_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

// The lock is handed to a waiter at the moment at which it leaves: the next one has it
// at once.
func TestRace11ReleaseMeetsHandOver(t *testing.T) {
	s := startSet(t, 3)
	holder, quitter, patient := s.peer(t), s.peer(t), s.peer(t)
	for range rounds(200) {
		lease := acquire(t, holder.Client, job)
		ctx, cancel := context.WithCancel(bounded(t))
		quit := waiting(ctx, t, quitter.Client)
		s.inLine(t, "1")
		next := waiting(bounded(t), t, patient.Client)
		s.inLine(t, "2")
		time.AfterFunc(rand.N(2*time.Millisecond), cancel)
		start := time.Now()
		release(t, lease)
		if o := <-quit; o.err == nil {
			release(t, o.lease)
		}
		o := granted(t, next)
		within(t, "the hand-over past somebody who leaves", o.at.Sub(start), 200*time.Millisecond)
		release(t, o.lease)
		s.free(t)
	}
}

// entry returns the first entry of a line, and its client.
func entry(t testing.TB, s set) (entry, client string) {
	t.Helper()
	entry = s[0].Do("ZRANGE", line, "0", "0")
	parts := strings.Fields(entry)
	if len(parts) < 3 {
		t.Fatalf("entry %q", entry)
	}
	return entry, parts[1]
}

// Word that is not true grants nothing.
func TestRace12MessagesAreHints(t *testing.T) {
	s := startSet(t, 3)
	holder, waiter := s.peer(t), s.peer(t)
	lease := acquire(t, holder.Client, job)
	next := waiting(bounded(t), t, waiter.Client)
	s.inLine(t, "1")
	first, client := entry(t, s)
	id, _, _ := strings.Cut(first, " ")
	for range 20 {
		for _, server := range s {
			server.Do("PUBLISH", "lock:fh!k:"+client, "g "+id+" "+jobKey)
		}
	}
	select {
	case o := <-next:
		t.Fatalf("the wait ended while the lock was held: %v", o.err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := lease.Extend(bounded(t), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	release(t, lease)
	o := granted(t, next)
	if o.lease.Token() <= lease.Token() {
		t.Errorf("token %v after %v", o.lease.Token(), lease.Token())
	}
	release(t, o.lease)
}

// The lines differ from node to node, so that each hands the lock to another waiter:
// all of them are served.
func TestRace13SplitHandOver(t *testing.T) {
	s := startSet(t, 3)
	lease := acquire(t, s.peer(t).Client, job)
	var served []<-chan outcome
	for i := range s {
		served = append(served, waiting(bounded(t), t, s.peer(t).Client))
		s.inLine(t, string(rune('1'+i)))
	}
	// Each waiter comes first at one node.
	for i, server := range s {
		entries := strings.Split(server.Do("ZRANGE", line, "0", "-1"), "\n")
		server.Do("ZINCRBY", line, "-1000000000", entries[i])
	}
	start := time.Now()
	release(t, lease)
	last := lease.Token()
	turns := make(chan outcome, len(served))
	for _, one := range served {
		go func() {
			o := <-one
			turns <- o
		}()
	}
	for range served {
		o := <-turns
		if o.err != nil {
			t.Fatal(o.err)
		}
		if o.lease.Token() <= last {
			t.Errorf("token %v after %v", o.lease.Token(), last)
		}
		last = o.lease.Token()
		release(t, o.lease)
	}
	within(t, "serving three waiters after a split", time.Since(start), 1500*time.Millisecond)
}

// A waiter has died without leaving the line: it is passed over.
func TestRace14DeadWaiter(t *testing.T) {
	s := startSet(t, 3)
	lease := acquire(t, s.peer(t).Client, job)
	next := waiting(bounded(t), t, s.peer(t).Client)
	s.inLine(t, "1")
	for _, server := range s {
		server.Do("ZADD", line, "1", "DEADDEADDEAD nobody 1000 o=x")
	}
	start := time.Now()
	release(t, lease)
	o := granted(t, next)
	within(t, "passing over the dead", o.at.Sub(start), 50*time.Millisecond)
	release(t, o.lease)
}

// A waiter is frozen when the lock is handed to it: it costs a short grant.
func TestRace14FrozenWaiter(t *testing.T) {
	s := startSet(t, 3)
	lease := acquire(t, s.peer(t).Client, job)
	frozen := s.peer(t)
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	lost := waiting(ctx, t, frozen.Client, fencehold.WithTTL(30*time.Second))
	s.inLine(t, "1")
	for _, proxy := range frozen.proxies {
		proxy.Cut()
	}
	next := waiting(bounded(t), t, s.peer(t).Client)
	s.inLine(t, "2")
	start := time.Now()
	release(t, lease)
	o := granted(t, next)
	within(t, "the next grant after a frozen waiter's", o.at.Sub(start), 1100*time.Millisecond)
	release(t, o.lease)
	cancel()
	<-lost
}

// The winner is handed another node after it was granted: that adds to what it has.
func TestRace15HandedMoreNodesLater(t *testing.T) {
	s := startSet(t, 3)
	holder := s.peer(t)
	lease := acquire(t, holder.Client, job)
	next := waiting(bounded(t), t, s.peer(t).Client)
	s.inLine(t, "1")
	late := holder.proxies[2].HoldRequests(jobKey)
	release(t, lease)
	o := granted(t, next)
	if !has(s[2], lease.Fence().Holder) {
		t.Errorf("the third node has %q, want the released lock", value(s[2]))
	}
	late.Release()
	poll(t, "the third node counts", func() bool {
		spare, known := o.lease.Redundancy()
		return known && spare == 1
	})
	if !has(s[2], o.lease.Fence().Holder) {
		t.Errorf("the third node has %q", value(s[2]))
	}
	release(t, o.lease)
	s.free(t)
}

// The lock is handed to a wait that is over: its client gives it back.
func TestRace16HandedToAWaitThatIsOver(t *testing.T) {
	s := startSet(t, 3)
	holder, gone := s.peer(t), s.peer(t)
	lease := acquire(t, holder.Client, job)
	ctx, cancel := context.WithCancel(bounded(t))
	quit := waiting(ctx, t, gone.Client)
	s.inLine(t, "1")
	first, client := entry(t, s)
	cancel()
	<-quit
	s.inLine(t, "0")
	for _, server := range s {
		server.Do("ZADD", line, "1", strings.Replace(first, strings.Fields(first)[0], "LONGGONE", 1))
	}
	if !strings.Contains(first, " "+client+" ") {
		t.Fatalf("entry %q", first)
	}
	start := time.Now()
	release(t, lease)
	s.free(t)
	within(t, "giving back what a wait that is over was handed", time.Since(start), 300*time.Millisecond)
}

// The subscription to some nodes is down, or to all: the waiter is served by the
// others' word, or by asking on its own.
func TestRace17Deaf(t *testing.T) {
	s := startSet(t, 3)
	for n, allowed := range map[int]time.Duration{1: 100 * time.Millisecond, 3: 1200 * time.Millisecond} {
		lease := acquire(t, s.peer(t).Client, job)
		waiter := s.peer(t)
		next := waiting(bounded(t), t, waiter.Client)
		s.inLine(t, "1")
		_, client := entry(t, s)
		channel := "lock:fh!k:" + client
		for i := range n {
			waiter.proxies[i].Refuse()
			s[i].Do("CLIENT", "KILL", "TYPE", "pubsub")
			poll(t, "nobody listens", func() bool { return strings.HasSuffix(s[i].Do("PUBSUB", "NUMSUB", channel), "0") })
		}
		start := time.Now()
		release(t, lease)
		o := granted(t, next)
		within(t, "the hand-over to a waiter who hears little", o.at.Sub(start), allowed)
		release(t, o.lease)
	}
}

// A holder whose client has died is waited out, and not longer.
func TestDeadHolder(t *testing.T) {
	s := startSet(t, 3)
	holder := s.peer(t, fencehold.WithoutRenewal())
	const ttl = 700 * time.Millisecond
	start := time.Now()
	acquire(t, holder.Client, job, fencehold.WithTTL(ttl))
	o := granted(t, waiting(bounded(t), t, s.peer(t).Client))
	within(t, "the grant after a dead holder's", o.at.Sub(start), ttl+50*time.Millisecond)
	if o.at.Sub(start) < ttl {
		t.Errorf("granted %v into a TTL of %v", o.at.Sub(start), ttl)
	}
	release(t, o.lease)
}

// A stranger leaves without a word: the front looks after it.
func TestStranger(t *testing.T) {
	s := startSet(t, 3)
	waiter := s.peer(t)
	for _, server := range s {
		server.Do("SET", jobKey, "a stranger's", "PX", "30000")
	}
	next := waiting(bounded(t), t, waiter.Client)
	s.inLine(t, "1")
	for _, server := range s {
		server.Do("DEL", jobKey)
	}
	start := time.Now()
	o := granted(t, next)
	within(t, "the grant after a stranger's", o.at.Sub(start), 100*time.Millisecond)
	release(t, o.lease)
}
