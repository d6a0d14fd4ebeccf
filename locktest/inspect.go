package locktest

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

var inspectTests = []test{
	{name: "InspectShowsHolderAndWaiters", run: testInspect},
	{name: "ListShowsHeldLocks", run: testList},
	{name: "LookingDisturbsNobody", run: testLooking},
	{name: "B80UnlockExactlyOne", run: testUnlock},
	{name: "UnlockHandsOver", run: testUnlockHandsOver},
	{name: "UnlockTellsTheVictim", run: testUnlockTellsTheVictim},
}

// inspects reports whether the backend can show locks; if not, its refusal is
// checked.
func (s *suite) inspects(t *testing.T, client *fencehold.Client) bool {
	t.Helper()
	_, err := client.Inspect(bounded(t), name(t))
	if errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

func inspect(t *testing.T, client *fencehold.Client, lock string) fencehold.Holding {
	t.Helper()
	holding, err := client.Inspect(bounded(t), lock)
	if err != nil {
		t.Fatal(err)
	}
	return holding
}

func testInspect(t *testing.T, s *suite) {
	labels := map[string]string{"job": "billing", "weird": `"quoted" <&> ☃`}
	client := s.client(t, fencehold.WithOwner("me & myself"), fencehold.WithLabels(labels))
	if !s.inspects(t, client) {
		return
	}
	lock := name(t)
	before := time.Now().Add(-time.Second)
	lease := acquire(t, client, lock)
	h := inspect(t, s.client(t), lock)
	switch {
	case !h.Held, h.Foreign, h.Name != lock, h.Holder != lease.Fence().Holder, h.Token != lease.Token():
		t.Errorf("inspect shows %+v, want the grant %v", h, lease.Fence())
	case h.Owner != "me & myself", !maps.Equal(h.Labels, labels):
		t.Errorf("inspect shows owner %q and labels %v", h.Owner, h.Labels)
	case h.Since.Before(before), h.Since.After(time.Now().Add(time.Second)):
		t.Errorf("inspect shows a grant at %v", h.Since)
	case h.TTL > s.ttl, h.TTL < 0, h.Key == "":
		t.Errorf("inspect shows TTL %v and key %q", h.TTL, h.Key)
	}
	if s.info.Features.Has(driver.FairQueue) {
		waiter := s.client(t, fencehold.WithOwner("the waiter"))
		ctx, cancel := context.WithCancel(bounded(t))
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = waiter.Mutex(lock).Acquire(ctx)
		}()
		s.awaitWaiters(t, lock, 1)
		if w := inspect(t, client, lock).Waiters[0]; w.Owner != "the waiter" {
			t.Errorf("inspect shows waiter %+v", w)
		}
		cancel()
		<-gone
	}
	release(t, lease)
	eventually(t, "the lock is shown as free", func() bool { return !inspect(t, client, lock).Held })
}

func testList(t *testing.T, s *suite) {
	client := s.client(t)
	if !s.inspects(t, client) {
		return
	}
	prefix := name(t)
	want := map[string]bool{}
	for _, end := range []string{"/a", "/b c", "/ü"} {
		defer release(t, acquire(t, client, prefix+end))
		want[prefix+end] = true
	}
	defer release(t, acquire(t, client, name(t)))
	release(t, acquire(t, client, prefix+"/free"))
	got := map[string]bool{}
	for holding, err := range s.client(t).Locks(bounded(t), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		got[holding.Name] = holding.Held
	}
	if !maps.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

// Attempts on a free lock succeed while others look at it all the time.
func testLooking(t *testing.T, s *suite) {
	client, lock := s.client(t), name(t)
	if !s.inspects(t, client) {
		return
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	watcher := s.client(t)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				_, _ = watcher.Inspect(context.Background(), lock)
			}
		}
	}()
	for range rounds(1000) {
		lease, err := client.Mutex(lock).TryAcquire(bounded(t))
		if err != nil {
			t.Errorf("an attempt on a free lock while somebody looks: %v", err)
			break
		}
		release(t, lease)
	}
	close(done)
	<-stopped
}

func testUnlock(t *testing.T, s *suite) {
	victim, operator, lock := s.client(t), s.client(t, fencehold.WithOwner("the operator")), name(t)
	lease := acquire(t, victim, lock, fencehold.WithTTL(max(10*time.Minute, s.info.MinTTL)))
	holder := lease.Fence().Holder
	err := operator.Unlock(bounded(t), lock, driver.NewHolder(), "wrong holder")
	if errors.Is(err, errors.ErrUnsupported) {
		release(t, lease)
		return
	}
	mustBe(t, err, fencehold.ErrLost)
	if !lease.Valid() {
		t.Fatalf("lost to an unlock of another holder: %v", lease.Err())
	}
	if err := operator.Unlock(bounded(t), lock, holder, "maintenance"); err != nil {
		t.Fatal(err)
	}
	next, err := operator.Mutex(lock).TryAcquire(bounded(t))
	if err != nil {
		t.Fatalf("not free after unlock: %v", err)
	}
	mustBe(t, operator.Unlock(bounded(t), lock, holder, "again"), fencehold.ErrLost)
	if !next.Valid() {
		t.Fatalf("the next holder was hit: %v", next.Err())
	}
	s.testVictimIsTold(t, lease)
	release(t, next)
	mustBe(t, operator.Unlock(bounded(t), lock, holder, "once more"), fencehold.ErrLost)
}

func (s *suite) testVictimIsTold(t *testing.T, lease *fencehold.Lease) {
	t.Helper()
	if err := lease.Extend(bounded(t), s.ttl); err != nil {
		mustBe(t, err, fencehold.ErrLost)
	}
	var lost *fencehold.LostError
	if err := lease.Err(); !errors.As(err, &lost) {
		t.Fatalf("the victim's lease ended with %v", err)
	}
	if lost.Reason != fencehold.ReasonRevoked || lost.By != "the operator" || lost.Why != "maintenance" {
		t.Errorf("the victim was told %+v", lost)
	}
}

// Where the service can tell, the victim hears of it long before its next
// renewal.
func testUnlockTellsTheVictim(t *testing.T, s *suite) {
	backend := s.open(t)
	victim, operator, lock := s.clientOn(t, backend), s.client(t, fencehold.WithOwner("the operator")), name(t)
	_, told := backend.(driver.Watcher)
	_, asked := backend.(driver.Checker)
	if !told && !asked {
		return
	}
	lease := acquire(t, victim, lock, fencehold.WithTTL(max(10*time.Minute, s.info.MinTTL)))
	start := time.Now()
	if err := operator.Unlock(bounded(t), lock, lease.Fence().Holder, "maintenance"); err != nil {
		t.Fatal(err)
	}
	<-lease.Done()
	within(t, "word of the unlock", time.Since(start), tickOfChecks)
	s.testVictimIsTold(t, lease)
}

// tickOfChecks is how long a backend that is asked may take to see a loss.
const tickOfChecks = time.Second

func testUnlockHandsOver(t *testing.T, s *suite) {
	victim, operator, waiter, lock := s.client(t), s.client(t), s.client(t), name(t)
	lease := acquire(t, victim, lock, fencehold.WithTTL(max(10*time.Minute, s.info.MinTTL)))
	served := make(chan time.Time, 1)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		err := waiter.Mutex(lock).Do(bounded(t), func(context.Context) error {
			served <- time.Now()
			return nil
		})
		if err != nil {
			t.Error(err)
			served <- time.Time{}
		}
	})
	if s.info.Features.Has(driver.FairQueue) {
		s.awaitWaiters(t, lock, 1)
	}
	start := time.Now()
	err := operator.Unlock(bounded(t), lock, lease.Fence().Holder, "")
	if errors.Is(err, errors.ErrUnsupported) {
		release(t, lease)
		<-served
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	within(t, "the hand-over by unlock", (<-served).Sub(start), time.Second)
	mustBe(t, lease.Release(bounded(t)), fencehold.ErrLost)
}
