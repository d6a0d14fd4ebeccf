package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

var expiryTests = []test{
	{name: "B08LateReleaseIsHarmless", run: testLateRelease},
	{name: "B02LateRenewalIsHarmless", run: testLateRenewal},
	{name: "ExpiryFreesTheLock", run: testExpiry},
	{name: "B01LossBeforeExpiry", run: testLossBeforeExpiry},
	{name: "B03OneFailedRenewalIsNotLoss", run: testFailedRenewal},
	{name: "RenewalOutlivesTTL", run: testRenewalOutlives},
	{name: "RenewalNeverShortens", run: testNeverShortens},
	{name: "B10HandleIdentity", run: testHandleIdentity},
	{name: "B28WaitIsNotTTL", run: testWaitIsNotTTL},
	{name: "StuckHolderLosesTheLock", run: testStuckHolder},
	{name: "MaxHoldFreesTheLock", run: testMaxHold},
	{name: "MinHold", needs: driver.MinHold, run: testMinHold},
	{name: "Resume", needs: driver.Detached, run: testResume},
}

// expired returns a lease that has run out, without anybody having been told.
func (s *suite) expired(t *testing.T, lock string) *fencehold.Lease {
	t.Helper()
	lease := acquire(t, s.runsOut(t), lock)
	time.Sleep(s.ttl + 50*time.Millisecond)
	return lease
}

func testLateRelease(t *testing.T, s *suite) {
	lock := name(t)
	late := s.expired(t, lock)
	b := acquire(t, s.client(t), lock, fencehold.WithTTL(max(10*time.Second, s.info.MinTTL)))
	mustBe(t, late.Release(bounded(t)), fencehold.ErrLost)
	_, err := s.client(t).Mutex(lock).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	if !b.Valid() {
		t.Errorf("the second holder lost the lock to a late release: %v", b.Err())
	}
	release(t, b)
}

func testLateRenewal(t *testing.T, s *suite) {
	backend := s.open(t)
	defer backend.Close()
	req := s.request(t, "job")
	grant, err := backend.TryAcquire(bounded(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if grant.Pinned {
		t.Fatal("asked for a grant that runs out, got a pinned one")
	}
	time.Sleep(s.ttl + 50*time.Millisecond)
	if _, err := backend.Renew(bounded(t), grant, s.ttl); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("renewal after expiry: %v, want ErrLost", err)
	}
	other := s.request(t, "job")
	next, err := backend.TryAcquire(bounded(t), other)
	if err != nil {
		t.Fatalf("the late renewal brought the grant back: %v", err)
	}
	if _, err := backend.Renew(bounded(t), grant, s.ttl); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("renewal of another holder's lock: %v, want ErrLost", err)
	}
	if err := backend.Release(bounded(t), next, 0); err != nil {
		t.Errorf("the next holder's release: %v", err)
	}
}

func testExpiry(t *testing.T, s *suite) {
	lock := name(t)
	start := time.Now()
	acquire(t, s.runsOut(t), lock)
	lease := acquire(t, s.client(t), lock)
	waited := time.Since(start)
	if waited < s.ttl {
		t.Errorf("granted again %v into a TTL of %v", waited, s.ttl)
	}
	within(t, "the next grant after expiry", waited, s.ttl+50*time.Millisecond)
	release(t, lease)
}

// The holder's connection is silent; it must know that it has lost the lock
// before somebody else is granted it.
func testLossBeforeExpiry(t *testing.T, s *suite) {
	lock := name(t)
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend, s.lasting...)
	lease := acquire(t, client, lock)
	ctx := lease.Context(context.Background())
	backend.denyAll("renew", errCut)
	backend.denyAll("release", errCut)

	next := acquire(t, s.client(t), lock)
	// Asked at this moment, context and lease answer by the clock, also where
	// the machine is too busy for timers to be on time.
	if ctx.Err() == nil {
		t.Error("the context is alive although somebody else was granted the lock")
	}
	if lease.Valid() {
		t.Error("Valid is true although somebody else was granted the lock")
	}
	select {
	case <-lease.Done():
	default:
		t.Error("Done is open although somebody else was granted the lock")
	}
	mustBeLost(t, lease.Err(), fencehold.ReasonUnreachable)
	mustBeLost(t, context.Cause(ctx), fencehold.ReasonUnreachable)
	if n := backend.count("renew"); n < 2 {
		t.Errorf("%d renewals were tried before giving up, want at least 2", n)
	}
	release(t, next)
}

// mustBeLost fails unless err is a loss for this reason.
func mustBeLost(t *testing.T, err error, want fencehold.Reason) {
	t.Helper()
	var lost *fencehold.LostError
	if !errors.As(err, &lost) || !errors.Is(err, fencehold.ErrLost) || lost.Reason != want {
		t.Fatalf("error %v: want a loss by %q", err, want)
	}
}

func testFailedRenewal(t *testing.T, s *suite) {
	lock := name(t)
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend, append(s.lasting, fencehold.WithTTL(2*s.ttl))...)
	lease := acquire(t, client, lock)
	backend.loseReplies("renew", 1)
	time.Sleep(4 * s.ttl)
	if !lease.Valid() {
		t.Fatalf("lost after one lost answer: %v", lease.Err())
	}
	release(t, lease)
}

func testRenewalOutlives(t *testing.T, s *suite) {
	lock := name(t)
	lease := acquire(t, s.client(t, s.lasting...), lock)
	time.Sleep(4 * s.ttl)
	if !lease.Valid() {
		t.Fatalf("lost although it was renewed: %v", lease.Err())
	}
	_, err := s.client(t).Mutex(lock).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	release(t, lease)
}

func testNeverShortens(t *testing.T, s *suite) {
	lock := name(t)
	client := s.runsOut(t)
	lease := acquire(t, client, lock, fencehold.WithTTL(4*s.ttl))
	before := lease.Expires()
	if err := lease.Extend(bounded(t), s.ttl); err != nil {
		t.Fatal(err)
	}
	if lease.Expires().Before(before) {
		t.Errorf("extending by less brought the end forward by %v", before.Sub(lease.Expires()))
	}
	time.Sleep(2 * s.ttl)
	_, err := s.client(t).Mutex(lock).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	release(t, lease)
}

func testHandleIdentity(t *testing.T, s *suite) {
	client, lock := s.runsOut(t), name(t)
	first := acquire(t, client, lock)
	fromElsewhere := make(chan error, 1)
	go func() { fromElsewhere <- first.Extend(context.Background(), s.ttl) }()
	if err := <-fromElsewhere; err != nil {
		t.Fatalf("extended from another goroutine: %v", err)
	}
	go func() { fromElsewhere <- first.Release(context.Background()) }()
	if err := <-fromElsewhere; err != nil {
		t.Fatalf("released from another goroutine: %v", err)
	}
	second := acquire(t, client, lock)
	mustBe(t, first.Extend(bounded(t), s.ttl), fencehold.ErrReleased)
	if err := first.Release(bounded(t)); err != nil {
		t.Errorf("second release: %v", err)
	}
	if !second.Valid() {
		t.Errorf("the new lease suffered from the old one: %v", second.Err())
	}
	if err := second.Extend(bounded(t), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(second.Expires()); left > 5*time.Second || left < 4800*time.Millisecond-slack {
		t.Errorf("%v left after extending to 5s", left)
	}
	release(t, second)
}

func testWaitIsNotTTL(t *testing.T, s *suite) {
	lock := name(t)
	holder := acquire(t, s.client(t), lock, fencehold.WithTTL(max(10*time.Second, s.info.MinTTL)))
	client := s.client(t)

	start := time.Now()
	_, err := client.Mutex(lock, fencehold.WithMaxWait(300*time.Millisecond)).Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	within(t, "a wait of 300ms", time.Since(start), 300*time.Millisecond)

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start = time.Now()
	_, err = client.Mutex(lock, fencehold.WithMaxWait(10*time.Second)).Acquire(ctx)
	mustBe(t, err, context.DeadlineExceeded)
	within(t, "a context of 100ms", time.Since(start), 100*time.Millisecond)

	// Waiting for longer than the waiter's own TTL is nothing special.
	time.AfterFunc(2*s.ttl, func() { _ = holder.Release(context.Background()) })
	lease := acquire(t, client, lock, fencehold.WithMaxWait(limit))
	if left := time.Until(lease.Expires()); left < s.ttl*3/5 {
		t.Errorf("%v of %v left right after the grant", left, s.ttl)
	}
	release(t, lease)
}

// A holder that reports no progress, and never releases, loses the lock.
func testStuckHolder(t *testing.T, s *suite) {
	lock := name(t)
	start := time.Now()
	lease := acquire(t, s.client(t), lock, fencehold.WithProgress(s.ttl/2))
	next := acquire(t, s.client(t), lock)
	within(t, "freeing the lock of a stuck holder", time.Since(start), 2*s.ttl)
	mustBeLost(t, lease.Err(), fencehold.ReasonExpired)
	mustBe(t, lease.Release(bounded(t)), fencehold.ErrLost)
	if !next.Valid() {
		t.Errorf("the next holder: %v", next.Err())
	}
	release(t, next)
}

func testMaxHold(t *testing.T, s *suite) {
	lock := name(t)
	start := time.Now()
	lease := acquire(t, s.client(t), lock, fencehold.WithMaxHold(s.ttl*3/2))
	next := acquire(t, s.client(t), lock)
	within(t, "freeing the lock by its hold limit", time.Since(start), 2*s.ttl+s.info.MinTTL)
	mustBeLost(t, lease.Err(), fencehold.ReasonMaxHold)
	release(t, next)
}

func testMinHold(t *testing.T, s *suite) {
	client, lock := s.client(t), name(t)
	const keep = 400 * time.Millisecond
	start := time.Now()
	lease := acquire(t, client, lock, fencehold.WithMinHold(keep))
	release(t, lease)
	_, err := client.Mutex(lock).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	if h := inspect(t, client, lock); !h.Held || !h.Kept || h.Holder == "" || h.Holder == lease.Fence().Holder {
		t.Errorf("inspect shows %+v, want a kept lock with an id of its own", h)
	}
	next := acquire(t, client, lock)
	if waited := time.Since(start); waited < keep-10*time.Millisecond {
		t.Errorf("granted again after %v, want %v", waited, keep)
	}
	within(t, "the grant after a minimum hold", time.Since(start), keep+50*time.Millisecond)
	if next.Token() <= lease.Token() && s.info.Features.Has(driver.Fencing) {
		t.Errorf("token %v after %v", next.Token(), lease.Token())
	}
	release(t, next)

	// A mistake of hours can be mended.
	lease = acquire(t, client, lock, fencehold.WithMinHold(time.Hour))
	release(t, lease)
	mustBe(t, lease.Extend(bounded(t), s.ttl), fencehold.ErrReleased)
	if err := client.Unlock(bounded(t), lock, inspect(t, client, lock).Holder, "not for an hour"); err != nil {
		t.Fatal(err)
	}
	release(t, acquire(t, client, lock))
}

func testResume(t *testing.T, s *suite) {
	lock := name(t)
	first := s.client(t, fencehold.WithDetached(), fencehold.WithoutRenewal(), fencehold.WithTTL(10*time.Second))
	lease := acquire(t, first, lock)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeLost(t, lease.Err(), fencehold.ReasonClosed)

	second := s.client(t)
	_, err := second.Mutex(lock).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	wrong := lease.Fence()
	wrong.Holder = driver.NewHolder()
	_, err = second.Resume(bounded(t), wrong)
	mustBe(t, err, fencehold.ErrLost)
	resumed, err := second.Resume(bounded(t), lease.Fence(), fencehold.WithoutRenewal())
	if err != nil {
		t.Fatal(err)
	}
	if resumed.Fence() != lease.Fence() {
		t.Errorf("resumed %v, want %v", resumed.Fence(), lease.Fence())
	}
	if err := resumed.Extend(bounded(t), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	release(t, resumed)
	_, err = second.Resume(bounded(t), lease.Fence())
	mustBe(t, err, fencehold.ErrLost)
	release(t, acquire(t, second, lock))
}
