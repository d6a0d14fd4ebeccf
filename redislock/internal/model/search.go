package model

import (
	"hash/maphash"
	"slices"
)

// A Result is what a search found.
type Result struct {
	States      int
	Transitions int
	Exhausted   bool     // every state that can be reached was visited
	Broken      Property // of the first bad state
	Trace       []Step   // the shortest way to it
}

// A search visits states in the order of their distance from the first. It
// remembers their hashes only: with 64 bits, two of ten million states are
// taken for one another once in 400,000 searches.
type search struct {
	cfg    *Config
	seed   maphash.Seed
	index  map[uint64]uint32 // hash → number of the state
	hashes []uint64
	parent []uint32
	now    []State // the states at the distance that is looked at
	next   []State
	first  uint32 // the number of now[0]
	result Result
}

// Search visits all states that can follow the first one, until it finds one
// in which a property of want does not hold.
func (c *Config) Search(want Property) Result {
	f := &search{cfg: c, seed: maphash.MakeSeed(), index: map[uint64]uint32{}}
	first := c.first()
	c.canon(&first)
	f.visit(&first, 0)
	for len(f.next) > 0 && f.result.Broken == 0 && !f.full() {
		f.level(want)
	}
	f.result.States = len(f.hashes)
	f.result.Exhausted = len(f.next) == 0 && f.result.Broken == 0
	return f.result
}

// first is the state in which everybody is subscribed and idle. A server that
// another one took over from has a counter.
func (c *Config) first() State {
	var s State
	if c.FailedOver {
		s.primary, s.servers[0].counter, s.servers[0].minted = 1, 2, 2
	}
	for i := range s.clients {
		s.clients[i].timer = never
		if i < c.Clients {
			s.clients[i].epoch, s.clients[i].inbox = 1, s.primary
			s.servers[s.primary].subs[i][1] = 1
		}
	}
	return s
}

// full reports whether the limit is reached.
func (f *search) full() bool { return f.cfg.States > 0 && len(f.hashes) >= f.cfg.States }

// level visits the states one step further.
func (f *search) level(want Property) {
	f.first = uint32(len(f.hashes) - len(f.next))
	f.now, f.next = f.next, f.now[:0]
	for i := range f.now {
		f.follow(uint32(i), want)
		if f.result.Broken != 0 {
			return
		}
	}
}

// follow visits the states after state i of the level.
func (f *search) follow(i uint32, want Property) {
	f.cfg.Next(&f.now[i], func(s *State, _ Step) {
		if f.result.Broken != 0 {
			return
		}
		f.result.Transitions++
		f.cfg.canon(s)
		if !f.visit(s, f.first+i) {
			return
		}
		if broken := f.cfg.Broken(s) & want; broken != 0 {
			f.result.Broken = broken
			f.result.Trace = f.trace()
		}
	})
}

// visit reports whether a state is new, and remembers it.
func (f *search) visit(s *State, parent uint32) bool {
	h := maphash.Comparable(f.seed, *s)
	if _, known := f.index[h]; known {
		return false
	}
	f.index[h] = uint32(len(f.hashes))
	f.hashes = append(f.hashes, h)
	f.parent = append(f.parent, parent)
	f.next = append(f.next, *s)
	return true
}

// trace goes the way to the last state again.
func (f *search) trace() []Step {
	var way []uint64
	for i := uint32(len(f.hashes) - 1); i > 0; i = f.parent[i] {
		way = append(way, f.hashes[i])
	}
	slices.Reverse(way)
	s := f.cfg.first()
	f.cfg.canon(&s)
	var steps []Step
	for _, h := range way {
		steps = append(steps, f.stepTo(&s, h))
	}
	return steps
}

// stepTo makes s the state with a hash that follows it.
func (f *search) stepTo(s *State, h uint64) Step {
	var found State
	var by Step
	f.cfg.Next(s, func(t *State, step Step) {
		f.cfg.canon(t)
		if maphash.Comparable(f.seed, *t) == h {
			found, by = *t, step
		}
	})
	*s = found
	return by
}
