package sim

import "github.com/fencehold/fencehold/redislock/redlock/internal/quorum"

// faults lets what the class has befall the nodes.
func (w *World) faults() {
	w.every(w.StepEvery, w.setClock)
	w.every(w.CrashEvery, func(n *node) { w.crash(n, false) })
	w.every(w.ForgetEvery, func(n *node) {
		if !w.Quarantine || w.voters() > quorum.Majority(len(w.nodes)) {
			w.crash(n, true)
		}
	})
}

// every does something to some node about so often; with 0, never.
func (w *World) every(mean micros, do func(*node)) {
	if mean == 0 {
		return
	}
	w.plan(w.now+w.about(mean), func() {
		do(w.nodes[w.rng.IntN(len(w.nodes))])
		w.every(mean, do)
	})
}

// crash takes a node down for a moment, with or without its memory.
func (w *World) crash(n *node, forgets bool) {
	if n.down {
		return
	}
	n.down = true
	w.plan(w.now+w.about(w.TTL/4), func() {
		n.down = false
		if forgets {
			w.Forgotten += min(1, int(n.owner()))
			n.forget()
		}
	})
}

// voters counts the nodes that vote, or will when they are up again.
func (w *World) voters() int {
	count := 0
	for _, n := range w.nodes {
		if n.marked {
			count++
		}
	}
	return count
}

// setClock steps a node's clock, by two TTLs at the most. A step forward ends
// values, so in contract it befalls only what is to spare.
func (w *World) setClock(n *node) {
	step := w.within(2 * w.TTL)
	if step > 0 && w.StepSpare && !w.toSpare(n) {
		return
	}
	if step > 0 && n.owner() != 0 {
		w.Steps++
	}
	n.clock.offset += step
}

// toSpare reports whether nobody depends on what node n knows: neither an
// attempt or a renewal that is under way, nor a lease, unless a majority of the
// other nodes keeps its value to its end. A node that is about to join depends
// on its clock.
func (w *World) toSpare(n *node) bool {
	owner := n.owner()
	for _, c := range w.clients {
		if c.attempt != nil && c.attempt.holder == owner {
			return false
		}
		l := c.lease
		if l == nil || l.holder != owner {
			continue
		}
		if l.renewing || w.keepers(n, c) < quorum.Majority(len(w.nodes)) {
			return false
		}
	}
	return n.marked
}

// keepers counts the nodes but n that keep the value of client c's lease to the
// lease's end.
func (w *World) keepers(n *node, c *client) int {
	count := 0
	end := c.clock.real(c.lease.end - c.now())
	for _, other := range w.nodes {
		left := other.clock.real(micros(other.until)*millisecond - other.now())
		if other != n && other.owner() == c.lease.holder && left >= end {
			count++
		}
	}
	return count
}
