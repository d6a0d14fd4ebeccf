package model

import (
	"hash/maphash"
	"slices"
)

// A Result is what a search found.
type Result struct {
	States      int
	Transitions int
	Depth       int      // steps to the farthest state
	Exhausted   bool     // every state that can be reached was visited
	Broken      Property // of the first bad state
	Trace       []Step   // the shortest way to it
}

// A search goes through the states in the order of their distance from the
// first ones. Of those behind it, it keeps the fingerprints.
type search struct {
	*Config
	printer printer
	index   map[fingerprint]uint32 // the number of each state
	prints  []fingerprint          // by number
	parents []uint32               // by number; a first state is its own parent
	front   []State                // the states at one distance
	next    []State                // those one step further
	result  Result
}

// Search visits all states that can follow the first ones until a property is
// broken, the limit is reached, or nothing is left.
func (c *Config) Search() Result {
	f := &search{Config: c, printer: printer{c, maphash.MakeSeed()}, index: map[fingerprint]uint32{}}
	for _, s := range c.first() {
		f.visit(&s, uint32(len(f.prints)))
	}
	f.result.Exhausted = true
	for len(f.next) > 0 && f.result.Exhausted {
		f.result.Exhausted = f.advance()
	}
	f.result.States = len(f.prints)
	return f.result
}

// first returns the states with nobody begun and each choice of counters. Of
// those that differ in the order of the nodes, one is enough.
func (c *Config) first() []State {
	states := []State{{}}
	for k := range c.Nodes {
		var more []State
		for _, s := range states {
			low := uint8(0)
			if k > 0 {
				low = s.nodes[k-1].h
			}
			for h := low; int(h) <= c.Counters; h++ {
				s.nodes[k].h = h
				more = append(more, s)
			}
		}
		states = more
	}
	return states
}

// advance visits the states one step further. It returns false if there is no
// need, or no room, for more.
func (f *search) advance() bool {
	base := uint32(len(f.prints) - len(f.next))
	f.front, f.next = f.next, f.front[:0]
	f.result.Depth++
	for i := range f.front {
		f.Next(&f.front[i], func(s *State, _ Step) { f.meet(s, base+uint32(i)) })
		if f.result.Broken != 0 || f.States > 0 && len(f.prints) >= f.States {
			return false
		}
	}
	return true
}

// meet looks at a state that follows another.
func (f *search) meet(s *State, parent uint32) {
	if f.result.Broken != 0 {
		return
	}
	f.result.Transitions++
	if f.visit(s, parent) && s.broken != 0 {
		f.result.Broken = s.broken
		f.result.Trace = f.trace()
	}
}

// visit reports whether a state is new, and remembers it.
func (f *search) visit(s *State, parent uint32) bool {
	print := f.printer.of(s)
	if _, known := f.index[print]; known {
		return false
	}
	f.index[print] = uint32(len(f.prints))
	f.prints = append(f.prints, print)
	f.parents = append(f.parents, parent)
	f.next = append(f.next, *s)
	return true
}

// trace goes the way to the last state once more.
func (f *search) trace() []Step {
	i := uint32(len(f.prints) - 1)
	var way []fingerprint
	for ; f.parents[i] != i; i = f.parents[i] {
		way = append(way, f.prints[i])
	}
	slices.Reverse(way)
	at := f.first()[i]
	var steps []Step
	for _, print := range way {
		step := f.stepTo(&at, print)
		at = step.after
		steps = append(steps, step)
	}
	return steps
}

// stepTo returns the step from s to a state with a fingerprint.
func (f *search) stepTo(s *State, print fingerprint) Step {
	var found Step
	f.Next(s, func(after *State, step Step) {
		if f.printer.of(after) == print {
			found, found.after = step, *after
		}
	})
	return found
}
