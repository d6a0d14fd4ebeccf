package sim

import "github.com/fencehold/fencehold/redislock/redlock/internal/quorum"

// farAhead is how far above its own clock a node takes a proposal.
const farAhead = 60 * second

// A node is one server with the one lock of a world. Its methods are the
// scripts; times in them are those of the node's own clock.
type node struct {
	w       *World
	index   int
	clock   clock
	holder  int64 // 0: nobody
	number  int64 // in the value
	until   int64 // ms
	h       int64
	marked  bool   // has the marker, so it votes
	joining micros // when it was found without; 0: it was not
	down    bool
}

// now is what the node's clock shows.
func (n *node) now() micros { return n.clock.at(n.w.now) }

// ms is the same in ms, as expiries are counted.
func (n *node) ms() int64 { return int64(n.now() / millisecond) }

// owner returns who has the lock, after its end nobody.
func (n *node) owner() int64 {
	if n.holder != 0 && n.ms() >= n.until {
		n.holder = 0
	}
	return n.holder
}

// set gives the lock to a holder.
func (n *node) set(holder, number int64) {
	n.holder, n.number, n.until = holder, number, n.ms()+n.w.ttl()
}

// yes is the vote of a node whose lock is the asker's.
func (n *node) yes() quorum.Vote {
	return quorum.Vote{Kind: quorum.Yes, Number: n.number, Left: n.until - n.ms()}
}

// acquire is P1.
func (n *node) acquire(holder, proposal int64) quorum.Vote {
	if !n.marked {
		return quorum.Vote{Kind: quorum.Abstains}
	}
	switch n.owner() {
	case 0:
		n.h = max(n.h+1, min(proposal, int64(n.now()+farAhead)))
		n.set(holder, n.h)
	case holder:
	default:
		return quorum.Vote{Kind: quorum.No}
	}
	return n.yes()
}

// settle is P2.
func (n *node) settle(holder, r, t int64) quorum.Vote {
	done := n.h == t && n.number == t
	if n.owner() != holder || n.h != r && !done {
		return quorum.Vote{Kind: quorum.No}
	}
	n.h, n.number = t, t
	return n.yes()
}

// renew extends the holder's lock. Absent is whether nobody has it.
func (n *node) renew(holder, token int64) (vote quorum.Vote, absent bool) {
	if owner := n.owner(); owner != holder {
		return quorum.Vote{Kind: quorum.No}, owner == 0
	}
	n.until = max(n.until, n.ms()+n.w.ttl())
	n.number, n.h = token, max(n.h, token)
	return n.yes(), false
}

// mend puts the holder's value back where there is none.
func (n *node) mend(holder, token int64) {
	if n.owner() == 0 {
		n.set(holder, token)
		n.h = max(n.h, token)
	}
}

// release deletes the holder's value.
func (n *node) release(holder int64) {
	if n.owner() == holder {
		n.holder = 0
	}
}

// forget loses the memory. Without quarantine the node votes as if nothing had
// happened.
func (n *node) forget() {
	n.holder, n.number, n.until, n.h, n.joining = 0, 0, 0, 0, 0
	n.marked = !n.w.Quarantine
}

// notice writes the join time if there is none and returns it, and whether
// the longest TTL has passed since.
func (n *node) notice() (joining micros, due bool) {
	if n.joining == 0 {
		n.joining = n.now()
	}
	return n.joining, n.rested()
}

// rested reports whether the longest TTL has passed since the join time.
func (n *node) rested() bool { return n.now()-n.joining >= n.w.TTL }

// enrol lets the node vote again with an h that others have answered. A node
// that has forgotten once more since they were asked has another join time.
func (n *node) enrol(joining micros, h int64) {
	if !n.marked && n.joining == joining && n.rested() {
		n.h, n.marked = max(n.h, h), true
	}
}
