package sim

import "container/heap"

// micros is a time, or a length of time, in µs. Where nothing else is said it
// is real time, which only the simulation knows.
type micros int64

// The units of time.
const (
	millisecond micros = 1000
	second      micros = 1000 * millisecond
)

// An event is something that happens at a time.
type event struct {
	at   micros
	turn uint64 // events of one time happen in the order in which they were planned
	do   func()
}

// A schedule has the events to come, and the time.
type schedule struct {
	now   micros
	heap  events
	turns uint64
}

// plan lets do happen at a time.
func (s *schedule) plan(at micros, do func()) {
	s.turns++
	heap.Push(&s.heap, event{at: max(at, s.now), turn: s.turns, do: do})
}

// step moves the time to the next event, which happens. It returns false if
// there is none.
func (s *schedule) step() bool {
	if len(s.heap) == 0 {
		return false
	}
	next := heap.Pop(&s.heap).(event)
	s.now = next.at
	next.do()
	return true
}

// events implements [heap.Interface].
type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].turn < e[j].turn
}

// Push adds x, an event.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop removes the last event.
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}
