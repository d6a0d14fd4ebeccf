package redlock_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// A fault happens to a server.
type fault = func(*testing.T, *testcluster.Redis)

// faults are what may happen to a server.
var faults = map[string]fault{
	"kill":          func(_ *testing.T, r *testcluster.Redis) { r.Kill() },
	"restart empty": func(_ *testing.T, r *testcluster.Redis) { r.Restart() },
	"pause": func(t *testing.T, r *testcluster.Redis) {
		r.Pause()
		t.Cleanup(r.Resume) // before clients are closed, who would wait for it
	},
}

// patient gives a busy machine time. A majority that answers need not wait for it.
var patient = redlock.Options{NodeTimeout: time.Second}

// quick is for tests that wait for servers that do not answer.
var quick = redlock.Options{NodeTimeout: 300 * time.Millisecond}

// eachMinority runs a test for every minority of 3 and 5 servers and every fault; for
// two of five, outside of the full conformance run, with one of the faults.
func eachMinority(t *testing.T, run func(t *testing.T, s set, lost []int, fault fault)) {
	t.Helper()
	for _, shape := range []struct{ n, lost int }{{3, 1}, {5, 1}, {5, 2}} {
		for i, lost := range choices(shape.n, shape.lost) {
			for j, name := range slices.Sorted(maps.Keys(faults)) {
				if shape.lost > 1 && rounds(10) < 10 && i%len(faults) != j {
					continue
				}
				t.Run(fmt.Sprintf("%s %v of %d", name, lost, shape.n), func(t *testing.T) {
					t.Parallel()
					run(t, startSet(t, shape.n), lost, faults[name])
				})
			}
		}
	}
}

// minorityTTL is long for a busy machine, and renewed within a second.
const minorityTTL = 3 * time.Second

// TestMinorityFails: whichever minority is killed, frozen or emptied, a holder keeps
// and renews its lock, nobody else is granted it, and who waits is served.
func TestMinorityFails(t *testing.T) {
	t.Parallel()
	eachMinority(t, func(t *testing.T, s set, lost []int, fault fault) {
		holder := s.peerWith(t, patient, fencehold.WithTTL(minorityTTL))
		waiter, other := s.peerWith(t, patient), s.peerWith(t, patient)
		lease := acquire(t, holder.Client, job)
		s.everywhere(t, lease)
		next := waiting(bounded(t), t, waiter.Client)
		s.inLine(t, "1")
		for _, i := range lost {
			fault(t, s[i])
		}
		awaitRenewal(t, lease)
		if err := lease.Extend(bounded(t), minorityTTL); err != nil {
			t.Fatal(err)
		}
		_, err := other.Mutex(job).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrHeld)
		select {
		case o := <-next:
			t.Fatalf("the wait ended while the lock was held: %v", o.err)
		default:
		}
		start := time.Now()
		release(t, lease)
		o := granted(t, next)
		within(t, "the hand-over", o.at.Sub(start), time.Second)
		if o.lease.Token() <= lease.Token() {
			t.Errorf("token %v after %v", o.lease.Token(), lease.Token())
		}
		release(t, o.lease)
		s.without(lost).nothingLeft(t, time.Second)
	})
}

// TestPausedMinorityIsFreed: what frozen servers have missed is made up for when they
// go on.
func TestPausedMinorityIsFreed(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	holder, waiter := s.peerWith(t, patient), s.peerWith(t, patient)
	for _, lost := range choices(5, 2) {
		lease := acquire(t, holder.Client, job)
		next := waiting(bounded(t), t, waiter.Client)
		s.inLine(t, "1")
		for _, i := range lost {
			s[i].Pause()
		}
		release(t, lease)
		release(t, granted(t, next).lease)
		s.without(lost).nothingLeft(t, time.Second)
		for _, i := range lost {
			s[i].Resume()
		}
		s.nothingLeft(t, 2*time.Second)
	}
}

// majorities are some that fail in the tests.
var majorities = []struct {
	n    int
	lost []int
}{{3, []int{0, 1}}, {3, []int{1, 2}}, {5, []int{0, 2, 4}}, {5, []int{1, 2, 3, 4}}}

// eachMajority runs a test for some majorities and every fault.
func eachMajority(t *testing.T, run func(t *testing.T, s set, lost []int, fault fault)) {
	t.Helper()
	for _, m := range majorities {
		for name, fault := range faults {
			t.Run(fmt.Sprintf("%s %v of %d", name, m.lost, m.n), func(t *testing.T) {
				t.Parallel()
				run(t, startSet(t, m.n), m.lost, fault)
			})
		}
	}
}

// TestMajorityFails: without a majority every attempt says so in time, and leaves
// nothing on the servers that are left.
func TestMajorityFails(t *testing.T) {
	t.Parallel()
	eachMajority(t, func(t *testing.T, s set, lost []int, fault fault) {
		a := s.peerWith(t, quick)
		for _, i := range lost {
			fault(t, s[i])
		}
		const wait = time.Second
		for way, ask := range asking {
			start := time.Now()
			_, err := ask(a.Mutex(job, fencehold.WithMaxWait(wait)), bounded(t))
			mustBe(t, err, fencehold.ErrUnavailable)
			within(t, way, time.Since(start), wait)
			s.without(lost).nothingLeft(t, time.Second)
		}
		s.without(lost).mustStayFree(t, 100*time.Millisecond)
	})
}

// TestMajorityFailsUnderAHolder: the holder is told before its lease is over, who waits
// is told that there is no majority, and nothing stays on the servers that are left.
func TestMajorityFailsUnderAHolder(t *testing.T) {
	t.Parallel()
	eachMajority(t, func(t *testing.T, s set, lost []int, fault fault) {
		const ttl, wait = time.Second, 4 * time.Second
		lease := acquire(t, s.peerWith(t, quick, fencehold.WithTTL(ttl)).Client, job)
		waiter := s.peerWith(t, quick)
		began := time.Now()
		next := waiting(bounded(t), t, waiter.Client, fencehold.WithMaxWait(wait))
		s.inLine(t, "1")
		for _, i := range lost {
			fault(t, s[i])
		}
		failed := time.Now()
		closes(t, "the loss", lease.Done(), ttl)
		within(t, "the loss", time.Since(failed), ttl)
		mustBe(t, lease.Err(), fencehold.ErrLost)
		o := <-next
		mustBe(t, o.err, fencehold.ErrUnavailable)
		within(t, "the end of the wait", o.at.Sub(began), wait)
		s.without(lost).nothingLeft(t, ttl)
	})
}
