package fencehold

import (
	"container/heap"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// tickEvery is how often the clocks are looked at beyond the timers, and the
// backends asked that can answer at once.
const tickEvery = time.Second

// far is when a schedule without leases looks again.
const far = time.Hour

// A schedule keeps all leases of a client in a heap, by the time at which each
// has to be looked at, and one goroutine that sleeps until the earliest. The
// goroutine starts with the first lease and ends with the client.
type schedule struct {
	client  *Client
	checker driver.Checker // nil if the backend cannot be asked
	wake    chan struct{}
	done    chan struct{} // nil while the goroutine has not started

	mu       sync.Mutex
	heap     leaseHeap
	byHolder map[string]*Lease // nil unless the backend has news of single leases often
	sleeping time.Time         // until when the goroutine sleeps
	checking bool
}

func (s *schedule) init(c *Client) {
	s.client = c
	s.checker, _ = c.backend.(driver.Checker)
	s.wake = make(chan struct{}, 1)
	if _, ok := c.backend.(driver.Redundant); ok {
		s.byHolder = map[string]*Lease{}
	}
}

// add takes a lease in.
func (s *schedule) add(l *Lease) {
	l.mu.Lock()
	next := l.nextEvent(l.granted)
	l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	l.next = next
	heap.Push(&s.heap, l)
	if s.byHolder != nil {
		s.byHolder[l.grant.Holder] = l
	}
	if s.done == nil {
		s.done = make(chan struct{})
		go s.run()
		return
	}
	s.rouse(next)
}

// plan sets when a lease is looked at next, unless it was removed.
func (s *schedule) plan(l *Lease, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.index < 0 {
		return
	}
	l.next = next
	heap.Fix(&s.heap, l.index)
	s.rouse(next)
}

// rouse wakes the goroutine if it would sleep too long.
func (s *schedule) rouse(next time.Time) {
	if !next.Before(s.sleeping) {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // one call is pending, which will see this lease too
	}
}

// remove forgets a lease. The caller holds its mutex.
func (s *schedule) remove(l *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.index >= 0 {
		heap.Remove(&s.heap, l.index)
	}
	// A grant that was resumed here may be that of two leases.
	if s.byHolder[l.grant.Holder] == l {
		delete(s.byHolder, l.grant.Holder)
	}
}

// ofHolder returns the lease of a holder on a backend that is Redundant, nil if
// it has none.
func (s *schedule) ofHolder(name, holder string) *Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byHolder[holder]; l != nil && l.Name() == name {
		return l
	}
	return nil
}

// leases returns those that are held.
func (s *schedule) leases() []*Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Lease(nil), s.heap...)
}

// stop waits for the goroutine to end. The client's life is over.
func (s *schedule) stop() {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (s *schedule) run() {
	defer close(s.done)
	timer := time.NewTimer(far)
	defer timer.Stop()
	tick := time.Now().Add(tickEvery)
	for {
		now := time.Now()
		if !now.Before(tick) {
			tick = now.Add(tickEvery)
			s.tick()
		}
		timer.Reset(time.Until(s.turnDue(tick)))
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.client.life.Done():
			return
		}
	}
}

// turnDue looks at every lease whose time has come and returns when to wake up
// next. The mutex of the schedule is not held while a lease is looked at.
func (s *schedule) turnDue(tick time.Time) time.Time {
	for {
		s.mu.Lock()
		now := time.Now()
		if len(s.heap) == 0 || s.heap[0].next.After(now) {
			s.client.renewals.flush()
			defer s.mu.Unlock()
			s.sleeping = now.Add(far)
			if len(s.heap) > 0 {
				s.sleeping = earlier(s.heap[0].next, tick)
			}
			return s.sleeping
		}
		// The lease stays in the heap while it is looked at, so that whoever
		// ends it meanwhile finds it there to be removed.
		l := s.heap[0]
		l.next = now.Add(far)
		heap.Fix(&s.heap, 0)
		s.mu.Unlock()
		l.turn()
	}
}

// tick looks at every lease for what no timer tells: a suspended machine, a
// wall clock that was set forward, a lock that was removed.
func (s *schedule) tick() {
	leases := s.leases()
	for _, l := range leases {
		_ = l.Err()
	}
	if s.checker == nil || len(leases) == 0 || !s.startCheck() {
		return
	}
	// Close does not wait for it: a check cannot be called back.
	go func() {
		for _, l := range leases {
			l.check(s.checker)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.checking = false
	}()
}

// startCheck allows one round of checks at a time: a file system that hangs
// must not hold up the schedule.
func (s *schedule) startCheck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checking {
		return false
	}
	s.checking = true
	return true
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// leaseHeap implements [heap.Interface].
type leaseHeap []*Lease

func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].next.Before(h[j].next) }

func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push adds x, a *Lease.
func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	l.index = len(*h)
	*h = append(*h, l)
}

// Pop removes the last lease.
func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	l.index = -1
	return l
}
