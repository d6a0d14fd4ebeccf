package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

var closingTests = []test{
	{name: "B88CloseEndsEverything", run: testClose},
	{name: "CloseEndsWaiting", run: testCloseWaiting},
}

func testClose(t *testing.T, s *suite) {
	client := s.client(t)
	var leases []*fencehold.Lease
	var locks []string
	for i := range 3 {
		locks = append(locks, fmt.Sprintf("%s/%d", name(t), i))
		leases = append(leases, acquire(t, client, locks[i]))
	}
	ctx := leases[0].Context(context.Background())
	start := time.Now()
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	within(t, "close", time.Since(start), time.Second)
	for i, lease := range leases {
		<-lease.Done()
		mustBeLost(t, lease.Err(), fencehold.ReasonClosed)
		release(t, acquire(t, s.client(t), locks[i]))
	}
	within(t, "freeing three locks by close", time.Since(start), s.ttl+slack)
	mustBeLost(t, context.Cause(ctx), fencehold.ReasonClosed)
	mustBeLost(t, leases[0].Release(bounded(t)), fencehold.ReasonClosed)

	_, err := client.Mutex(locks[0]).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrClosed)
	_, err = client.Mutex(locks[0]).Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrClosed)
	if err := client.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func testCloseWaiting(t *testing.T, s *suite) {
	lock := name(t)
	lease := acquire(t, s.client(t), lock, fencehold.WithTTL(max(limit, s.info.MinTTL)))
	client := s.client(t)
	waiting := make(chan error, 3)
	for range cap(waiting) {
		go func() {
			_, err := client.Mutex(lock).Acquire(bounded(t))
			waiting <- err
		}()
	}
	if s.info.Features.Has(driver.FairQueue) {
		s.awaitWaiters(t, lock, 1)
	}
	start := time.Now()
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	for range cap(waiting) {
		mustBe(t, <-waiting, fencehold.ErrClosed)
	}
	within(t, "ending three waits by close", time.Since(start), time.Second)
	release(t, lease)
	s.awaitFree(t, lock)
}

// RunLeaks tests that a client leaves nothing behind: no goroutine, and no
// memory that grows with the number of names. It counts what the whole process
// has, so nothing else may run meanwhile.
func RunLeaks(t *testing.T, open func(t *testing.T) driver.Backend) {
	backend := open(t)
	s := &suite{open: open, info: backend.Info(), ttl: max(backend.Info().MinTTL, 500*time.Millisecond)}
	client, err := fencehold.New(backend)
	if err != nil {
		t.Fatal(err)
	}
	s.churn(t, client, 100)
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	s.churn(t, client, rounds(10_000))
	if grown := heapInUse() - heap; grown > 2<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "goroutines of the client are gone", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// churn acquires and releases names once used, some of them in vain.
func (s *suite) churn(t *testing.T, client *fencehold.Client, n int) {
	t.Helper()
	// One context for all: the test must not keep what it counts.
	all := bounded(t)
	for i := range n {
		lock := fmt.Sprintf("%s/%d", t.Name(), i)
		lease, err := client.Mutex(lock).Acquire(all)
		if err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			_, err := client.Mutex(lock, fencehold.WithMaxWait(time.Millisecond)).Acquire(all)
			// A service may take longer than that to say who holds the lock.
			if !errors.Is(err, fencehold.ErrHeld) && !errors.Is(err, fencehold.ErrUnavailable) {
				t.Fatalf("acquire of a held lock: %v", err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			_, err = client.Mutex(lock).Acquire(ctx)
			cancel()
			mustBe(t, err, context.DeadlineExceeded)
		}
		release(t, lease)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
