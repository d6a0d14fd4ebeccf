package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

var releaseTests = []test{
	{name: "B09OutcomesOfRelease", run: testReleaseOutcomes},
	{name: "B16ReleaseUnderDeadContext", run: testReleaseDeadContext},
	{name: "B16AcquireContextBoundsAcquiringAlone", run: testAcquireContext},
	{name: "B12RenewalInFlightAtRelease", run: testRenewalAtRelease},
	{name: "B13FailedReleaseEndsRenewal", run: testFailedRelease},
	{name: "LostReplyToRelease", run: testLostReleaseReply},
	{name: "B23Do", run: testDo},
}

func testReleaseOutcomes(t *testing.T, s *suite) {
	lock := name(t)
	late := s.expired(t, lock)
	start := time.Now()
	mustBeLost(t, late.Release(bounded(t)), fencehold.ReasonExpired)
	within(t, "release after expiry", time.Since(start), 100*time.Millisecond)
	if err := late.Release(bounded(t)); err != nil {
		t.Errorf("loss reported twice: %v", err)
	}

	late = s.expired(t, lock)
	next := acquire(t, s.client(t), lock)
	mustBeLost(t, late.Release(bounded(t)), fencehold.ReasonTakenOver)
	release(t, next)
	if err := next.Release(bounded(t)); err != nil {
		t.Errorf("second release: %v", err)
	}
	mustBe(t, next.Err(), fencehold.ErrReleased)

	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend)
	lease := acquire(t, client, lock)
	release(t, lease)
	release(t, lease)
	if n := backend.count("release"); n != 1 {
		t.Errorf("two releases sent %d requests, want 1", n)
	}
}

func testReleaseDeadContext(t *testing.T, s *suite) {
	client, lock := s.client(t), name(t)
	ctx, cancel := context.WithCancel(context.Background())
	lease, err := client.Mutex(lock).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := lease.Release(ctx); err != nil {
		t.Fatalf("release under a dead context: %v", err)
	}
	next, err := s.client(t).Mutex(lock).TryAcquire(bounded(t))
	if err != nil {
		t.Fatalf("the lock is not free: %v", err)
	}
	release(t, next)
}

func testAcquireContext(t *testing.T, s *suite) {
	client, lock := s.client(t), name(t)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	lease, err := client.Mutex(lock).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * s.ttl)
	if !lease.Valid() {
		t.Fatalf("the lease ended with the context of Acquire: %v", lease.Err())
	}
	release(t, lease)
}

// Renewals and releases meet at every offset; a released lock must not come
// back and the loss signal must not fire.
func testRenewalAtRelease(t *testing.T, s *suite) {
	client, other, lock := s.client(t), s.client(t), name(t)
	for range rounds(200) {
		lease := acquire(t, client, lock)
		extended := make(chan error, 1)
		go func() { extended <- lease.Extend(context.Background(), s.ttl) }()
		release(t, lease)
		if err := <-extended; err != nil && !errors.Is(err, fencehold.ErrReleased) {
			t.Fatalf("extend beside a release: %v", err)
		}
		mustBe(t, lease.Err(), fencehold.ErrReleased)
		next, err := other.Mutex(lock).TryAcquire(bounded(t))
		if err != nil {
			t.Fatalf("the released lock came back: %v", err)
		}
		release(t, next)
	}
}

func testFailedRelease(t *testing.T, s *suite) {
	lock := name(t)
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend, s.lasting...)
	lease := acquire(t, client, lock)
	backend.denyAll("release", errCut)
	err := lease.Release(bounded(t))
	mustBe(t, err, fencehold.ErrUnavailable)
	if !errors.Is(err, errCut) {
		t.Errorf("error %v hides that of the backend", err)
	}
	renewals := backend.count("renew")
	next := acquire(t, s.client(t), lock)
	if n := backend.count("renew"); n != renewals {
		t.Errorf("%d renewals after the release", n-renewals)
	}
	release(t, next)
}

func testLostReleaseReply(t *testing.T, s *suite) {
	lock := name(t)
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend)
	lease := acquire(t, client, lock)
	backend.loseReplies("release", 1)
	if err := lease.Release(bounded(t)); err != nil {
		t.Errorf("release whose first answer was lost: %v", err)
	}
	s.awaitFree(t, lock)
}

func testDo(t *testing.T, s *suite) {
	lock := name(t)
	holder := acquire(t, s.client(t), lock, fencehold.WithTTL(max(limit, s.info.MinTTL)))
	client := s.runsOut(t)
	ran := false
	err := client.Mutex(lock, fencehold.WithMaxWait(200*time.Millisecond)).Do(bounded(t), func(context.Context) error {
		ran = true
		return nil
	})
	mustBe(t, err, fencehold.ErrHeld)
	if ran {
		t.Error("work ran without the lock")
	}
	release(t, holder)

	errWork := errors.New("work failed")
	err = client.Mutex(lock).Do(bounded(t), func(ctx context.Context) error {
		<-ctx.Done() // the lease is not renewed
		return errWork
	})
	if !errors.Is(err, errWork) || !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("error %v: want both that of the work and the loss", err)
	}
	err = client.Mutex(lock).Do(bounded(t), func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
	mustBeLost(t, err, fencehold.ReasonExpired)
	s.testDoPanics(t, lock)
}

func (s *suite) testDoPanics(t *testing.T, lock string) {
	t.Helper()
	client := s.client(t)
	func() {
		defer func() {
			if r := recover(); r != "oh no" {
				t.Errorf("recovered %v, want the panic of the work", r)
			}
		}()
		_ = client.Mutex(lock).Do(bounded(t), func(context.Context) error { panic("oh no") })
	}()
	lease, err := client.Mutex(lock).TryAcquire(bounded(t))
	if err != nil {
		t.Fatalf("not released by the panic: %v", err)
	}
	release(t, lease)
}
