package sim

import "math/rand/v2"

// A World is one set of nodes with one lock, its clients, and what happened.
type World struct {
	Class
	Figures
	schedule
	rng     *rand.Rand
	nodes   []*node
	clients []*client
	limit   int // of attempts
	holders int64
	tokens  map[int64]bool
	highest int64 // the largest token
}

// worldAttempts is how many attempts a world lives for.
const worldAttempts = 500

// Run makes so many attempts at least under the conditions of the class, in
// worlds of 3, 5, 7 and 9 nodes in turn. The same seed gives the same figures.
func (k Class) Run(seed uint64, attempts int) Figures {
	var sum Figures
	for i := 0; sum.Attempts < attempts; i++ {
		w := k.world(rand.New(rand.NewPCG(seed, uint64(i))), 3+i%4*2)
		w.faults()
		for w.Attempts < w.limit && w.step() {
		}
		sum.add(w.Figures)
	}
	return sum
}

// world makes a world in which everybody is about to begin.
func (k Class) world(rng *rand.Rand, nodes int) *World {
	w := &World{Class: k, rng: rng, limit: worldAttempts, tokens: map[int64]bool{}}
	for i := range nodes {
		w.nodes = append(w.nodes, &node{w: w, index: i, clock: w.newClock(fast), marked: true})
	}
	for range 2 + rng.IntN(4) {
		c := &client{w: w, clock: w.newClock(slow), wall: w.within(second), grain: 1}
		if w.happens(0.25) {
			c.grain = 10 * millisecond
		}
		c.lines, c.noticed = make([]line, nodes), make([]micros, nodes)
		w.clients = append(w.clients, c)
		c.pauses()
		c.retry()
	}
	return w
}

// ttl is the TTL in ms.
func (w *World) ttl() int64 { return int64(w.TTL / millisecond) }

// nodeTimeout is how long a node may take: a tenth of the TTL, between 20 ms
// and 1 s.
func (w *World) nodeTimeout() micros { return min(max(w.TTL/10, 20*millisecond), second) }
