package locktest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

var exclusionTests = []test{
	{name: "Exclusion", run: testExclusion},
	{name: "ExclusionBarging", run: testExclusionBarging},
	{name: "B87NotReentrant", run: testNotReentrant},
	{name: "TryAcquireMakesOneAttempt", run: testTryOnce},
}

// contend lets goroutines of several clients take turns, and counts in a plain
// variable what they do: a race or a lost update is an overlap.
func contend(t *testing.T, clients []*fencehold.Client, opts ...fencehold.Option) {
	t.Helper()
	const goroutines = 4
	lock, turns := name(t), rounds(200)
	var inside atomic.Int32
	var counter int
	var work sync.WaitGroup
	for _, client := range clients {
		for range goroutines {
			work.Go(func() {
				m := client.Mutex(lock, opts...)
				for range turns {
					err := m.Do(bounded(t), func(context.Context) error {
						if inside.Add(1) != 1 {
							t.Error("two holders at once")
						}
						counter++
						inside.Add(-1)
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	work.Wait()
	if want := len(clients) * goroutines * turns; !t.Failed() && counter != want {
		t.Errorf("counted to %d, want %d", counter, want)
	}
}

func testExclusion(t *testing.T, s *suite) {
	// The TTL is long enough that nobody loses the lock on a slow machine.
	ttl := fencehold.WithTTL(max(limit, s.info.MinTTL))
	contend(t, []*fencehold.Client{s.client(t, ttl), s.client(t, ttl), s.client(t, ttl)})
}

func testExclusionBarging(t *testing.T, s *suite) {
	ttl := fencehold.WithTTL(max(limit, s.info.MinTTL))
	contend(t, []*fencehold.Client{s.client(t, ttl), s.client(t, ttl)}, fencehold.WithBarging())
}

// The same client asks twice: the second request waits like anybody's.
func testNotReentrant(t *testing.T, s *suite) {
	client, lock := s.client(t), name(t)
	lease := acquire(t, client, lock)
	defer release(t, lease)
	_, err := client.Mutex(lock).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	start := time.Now()
	_, err = client.Mutex(lock, fencehold.WithMaxWait(200*time.Millisecond)).Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	within(t, "a wait of 200ms", time.Since(start), 200*time.Millisecond)
	if waited := time.Since(start); waited < 200*time.Millisecond {
		t.Errorf("gave up after %v, want 200ms", waited)
	}
	if !lease.Valid() {
		t.Errorf("the first lease is not valid any more: %v", lease.Err())
	}
}

func testTryOnce(t *testing.T, s *suite) {
	holder, lock := s.client(t), name(t)
	lease := acquire(t, holder, lock)
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend)
	for range 3 {
		_, err := client.Mutex(lock).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrHeld)
	}
	_, err := client.Mutex(lock, fencehold.WithMaxWait(0)).Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	if n := backend.count("try"); n != 4 {
		t.Errorf("4 attempts sent %d requests", n)
	}
	release(t, lease)
	second, err := client.Mutex(lock).TryAcquire(bounded(t))
	if err != nil {
		t.Fatalf("one attempt on a free lock: %v", err)
	}
	release(t, second)
	if n := backend.count("try"); n != 5 {
		t.Errorf("5 attempts sent %d requests", n)
	}
}
