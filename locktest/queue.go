package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

var queueTests = []test{
	{name: "WaiterWakes", run: testWaiterWakes},
	{name: "WaitedGrantHasItsTTL", run: testWaitedGrant},
	{name: "FirstComeFirstServed", needs: driver.FairQueue, run: testOrder},
	{name: "FirstComeFirstServedInOneClient", run: testLocalOrder},
	{name: "B41NobodyStarves", run: testNobodyStarves},
	{name: "B19CancelledWaitLeavesNothing", run: testCancelledWait},
	{name: "B38CrashedHolderWakesWaiters", run: testCrashedHolder},
	{name: "B37ReleaseDuringEnqueue", run: testReleaseDuringEnqueue},
}

func testWaiterWakes(t *testing.T, s *suite) {
	holder, waiter, lock := s.client(t), s.client(t), name(t)
	for range rounds(20) {
		lease := acquire(t, holder, lock, fencehold.WithTTL(max(limit, s.info.MinTTL)))
		released := make(chan time.Time, 1)
		time.AfterFunc(30*time.Millisecond, func() {
			released <- time.Now()
			_ = lease.Release(context.Background())
		})
		next := acquire(t, waiter, lock)
		within(t, "hand-over", time.Since(<-released), 100*time.Millisecond)
		release(t, next)
	}
}

// A lock that was waited for lasts as long as one that was free, also if nothing
// renews it.
func testWaitedGrant(t *testing.T, s *suite) {
	const ttl = 10 * time.Second
	for _, opt := range []fencehold.Option{fencehold.WithoutRenewal(), fencehold.WithDetached()} {
		holder, waiter, lock := s.client(t), s.client(t, fencehold.WithTTL(max(ttl, s.info.MinTTL))), name(t)
		lease := acquire(t, holder, lock)
		time.AfterFunc(50*time.Millisecond, func() { _ = lease.Release(context.Background()) })
		next, err := waiter.Mutex(lock, opt).Acquire(bounded(t))
		if errors.Is(err, errors.ErrUnsupported) {
			_ = lease.Release(context.Background())
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(next.Expires()); left < ttl-ttl/10 || next.TTL() < ttl {
			t.Errorf("%v left of a TTL of %v, asked for %v", left, next.TTL(), ttl)
		}
		release(t, next)
	}
}

// queueUp starts waiters one after the other; each is in line before the next
// one comes. The order in which they are served is sent.
func (s *suite) queueUp(t *testing.T, lock string, clients []*fencehold.Client) <-chan int {
	t.Helper()
	served := make(chan int, len(clients))
	var waiting sync.WaitGroup
	t.Cleanup(waiting.Wait)
	for i, client := range clients {
		waiting.Go(func() {
			err := client.Mutex(lock).Do(bounded(t), func(context.Context) error {
				served <- i
				return nil
			})
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
				served <- -1
			}
		})
		s.awaitWaiters(t, lock, i+1)
	}
	return served
}

// awaitWaiters waits until n clients are seen to wait for a lock.
func (s *suite) awaitWaiters(t *testing.T, lock string, n int) {
	t.Helper()
	backend := s.open(t)
	defer backend.Close()
	inspector, ok := backend.(driver.Inspector)
	if !ok {
		t.Fatal("a backend with a fair queue has to show it")
	}
	eventually(t, "all waiters in line", func() bool {
		holding, err := inspector.Inspect(bounded(t), lock)
		if err != nil {
			t.Fatal(err)
		}
		return holding.Waiting == n && len(holding.Waiters) == n
	})
}

func testOrder(t *testing.T, s *suite) {
	lock := name(t)
	lease := acquire(t, s.client(t), lock, fencehold.WithTTL(max(limit, s.info.MinTTL)))
	clients := make([]*fencehold.Client, 8)
	for i := range clients {
		clients[i] = s.client(t, fencehold.WithTTL(max(limit, s.info.MinTTL)))
	}
	served := s.queueUp(t, lock, clients)
	release(t, lease)
	for want := range clients {
		if got := <-served; got != want {
			t.Fatalf("waiter %d was served, want %d", got, want)
		}
	}
}

// Goroutines of one client are one waiter for the service and take turns among
// themselves.
func testLocalOrder(t *testing.T, s *suite) {
	client, lock := s.client(t, fencehold.WithTTL(max(limit, s.info.MinTTL))), name(t)
	lease := acquire(t, client, lock)
	const waiters = 16
	served := make(chan int, waiters)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for i := range waiters {
		started := make(chan struct{})
		waiting.Go(func() {
			close(started)
			err := client.Mutex(lock).Do(bounded(t), func(context.Context) error {
				served <- i
				return nil
			})
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
				served <- -1
			}
		})
		<-started
		// The goroutine runs; joining the local line takes it microseconds.
		time.Sleep(10 * time.Millisecond)
	}
	if inspector := s.info.Features.Has(driver.FairQueue); inspector {
		s.awaitWaiters(t, lock, 1)
	}
	release(t, lease)
	for want := range waiters {
		if got := <-served; got != want {
			t.Fatalf("goroutine %d was served, want %d", got, want)
		}
	}
}

// A greedy client that asks again at once must not keep others out.
func testNobodyStarves(t *testing.T, s *suite) {
	lock := name(t)
	ttl := fencehold.WithTTL(max(limit, s.info.MinTTL))
	const waiters = 20
	var greedyTurns, served atomic.Int32
	done := make(chan struct{})
	var work sync.WaitGroup
	hold := func(client *fencehold.Client, turns *atomic.Int32) {
		err := client.Mutex(lock).Do(bounded(t), func(context.Context) error {
			turns.Add(1)
			time.Sleep(time.Millisecond)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	greedy := s.client(t, ttl)
	work.Go(func() {
		for served.Load() < waiters && !t.Failed() {
			hold(greedy, &greedyTurns)
		}
	})
	var others sync.WaitGroup
	start := time.Now()
	for range waiters {
		client := s.client(t, ttl)
		others.Go(func() { hold(client, &served) })
	}
	go func() {
		others.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Error("somebody starves")
	}
	within(t, "20 turns beside a greedy client", time.Since(start), 10*time.Second)
	work.Wait()
}

func testCancelledWait(t *testing.T, s *suite) {
	lock := name(t)
	lease := acquire(t, s.client(t), lock, fencehold.WithTTL(max(limit, s.info.MinTTL)))
	quitter := s.client(t)
	quit := make(chan error, 2)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := quitter.Mutex(lock, fencehold.WithMaxWait(200*time.Millisecond)).Acquire(bounded(t))
		quit <- err
		_, err = quitter.Mutex(lock).Acquire(ctx)
		quit <- err
	}()
	mustBe(t, <-quit, fencehold.ErrHeld)
	time.AfterFunc(50*time.Millisecond, cancel)
	mustBe(t, <-quit, context.Canceled)

	served := make(chan time.Time, 1)
	patient := s.client(t)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		lease, err := patient.Mutex(lock).Acquire(bounded(t))
		served <- time.Now()
		if err != nil {
			t.Error(err)
			return
		}
		_ = lease.Release(context.Background())
	})
	if s.info.Features.Has(driver.FairQueue) {
		s.awaitWaiters(t, lock, 1)
	}
	released := time.Now()
	release(t, lease)
	within(t, "the hand-over past somebody who gave up", (<-served).Sub(released), 500*time.Millisecond)
	s.awaitFree(t, lock)
}

// awaitFree waits until nobody holds a lock and nobody waits for it.
func (s *suite) awaitFree(t *testing.T, lock string) {
	t.Helper()
	backend := s.open(t)
	defer backend.Close()
	inspector, ok := backend.(driver.Inspector)
	if !ok {
		return
	}
	eventually(t, "nothing left behind", func() bool {
		holding, err := inspector.Inspect(bounded(t), lock)
		if err != nil {
			t.Fatal(err)
		}
		return !holding.Held && holding.Waiting <= 0 && len(holding.Waiters) == 0
	})
}

// Nobody tells the waiters when a holder's lease just runs out.
func testCrashedHolder(t *testing.T, s *suite) {
	lock := name(t)
	acquire(t, s.runsOut(t), lock)
	granted := time.Now()
	clients := []*fencehold.Client{s.client(t), s.client(t), s.client(t)}
	served := make(chan time.Duration, len(clients))
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for _, client := range clients {
		waiting.Go(func() {
			err := client.Mutex(lock).Do(bounded(t), func(context.Context) error {
				served <- time.Since(granted)
				return nil
			})
			if err != nil {
				t.Error(err)
				served <- 0
			}
		})
	}
	for range clients {
		within(t, "the grant after a crash", <-served, s.ttl+100*time.Millisecond)
	}
}

// The lock is released at any moment of the waiter's way into the line.
func testReleaseDuringEnqueue(t *testing.T, s *suite) {
	holder, waiter, lock := s.client(t), s.client(t), name(t)
	ttl := fencehold.WithTTL(max(limit, s.info.MinTTL))
	for i := range rounds(500) {
		lease := acquire(t, holder, lock, ttl)
		pause := time.Duration(i%30) * 100 * time.Microsecond
		released := make(chan time.Time, 1)
		go func() {
			time.Sleep(pause)
			released <- time.Now()
			_ = lease.Release(context.Background())
		}()
		next := acquire(t, waiter, lock, ttl)
		within(t, "hand-over", time.Since(<-released), time.Second)
		release(t, next)
	}
}
