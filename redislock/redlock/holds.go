package redlock

import (
	"errors"
	"math/bits"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
)

// count is how many nodes are in a set of nodes.
func count(set uint64) int { return bits.OnesCount64(set) }

// bit is that of a node in a set of nodes.
func (n *node) bit() uint64 { return 1 << n.index }

// holds are what a client knows of its holder ids. Whatever comes in for one that is
// not among them is given back.
type holds struct {
	mu   sync.Mutex // guards all holds, too
	all  map[string]*hold
	most int // how many there may be before those are looked for that have run out
	// past are those that are over and have requests that were not answered.
	past map[string]*hold
	// ending are those of waits that are being released on all nodes: word of a
	// hand-over that comes late is answered by that.
	ending map[string]*hold
}

// stage is how far a hold has come.
type stage uint8

const (
	asking stage = iota // an attempt, or a wait
	held                // a grant
	over                // it was released, or given up
)

// A hold is one holder id: an attempt, a wait, or a grant.
type hold struct {
	known  *known
	holder string
	meta   string
	ttl    time.Duration
	wait   *wait  // nil for an attempt that does not wait
	entry  string // in the lines; empty if it is in none

	stage   stage
	until   time.Time // when a grant has certainly run out
	have    uint64    // the nodes that have the value
	touched uint64    // those that may have the value, or the entry
	open    uint64    // those that have a request and have not answered it
	silent  uint64    // those that have not answered one in time
	asks    int       // how many attempts were begun
	end     *round    // that releases it
	due     uint64    // those that have it in line, and may hand the lock over yet
	revoked uint64    // those that said that the grant was revoked

	lost  bool // the last round of a wait came to nothing
	heard bool // the last round has heard from all nodes, or not in time
	told  bool // spare was told
	spare int
}

func (hs *holds) init() {
	hs.all, hs.past, hs.ending = map[string]*hold{}, map[string]*hold{}, map[string]*hold{}
}

// begin takes a holder id in, before anything is sent for it. One that is known
// already is returned with true.
func (hs *holds) begin(h *hold) (begun *hold, known bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	begun = hs.all[h.holder]
	if known = begun != nil; !known {
		begun = h
		hs.all[h.holder] = h
	}
	begun.asks++
	hs.forget()
	return begun, known
}

// minForget is how many holds there are before those are looked for that have run
// out, and were never released. It doubles with those that are left.
const minForget = 1024

// forget drops them. The caller has the mutex.
func (hs *holds) forget() {
	if len(hs.all) < max(hs.most, minForget) {
		return
	}
	now := time.Now()
	for holder, h := range hs.all {
		if h.stage == held && now.After(h.until) {
			delete(hs.all, holder)
		}
	}
	hs.most = 2 * len(hs.all)
}

// stand takes note that a hold is a grant, or is one for longer. A lease ends sooner, by
// its own clock.
func (hs *holds) stand(h *hold, ttl time.Duration) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.stage != over {
		h.stage, h.until = held, time.Now().Add(ttl+time.Minute)
	}
}

// asksOf returns how many attempts a hold has made.
func (hs *holds) asksOf(h *hold) int {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return h.asks
}

// find returns a hold, nil if there is none.
func (hs *holds) find(holder string) *hold {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.all[holder]
}

// ended takes note that all nodes have been asked to release a hold.
func (hs *holds) ended(h *hold) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	delete(hs.ending, h.holder)
}

// known returns a hold, and whether it is one or is being released.
func (hs *holds) known(holder string) (h *hold, known bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h = hs.all[holder]
	return h, h != nil || hs.ending[holder] != nil
}

// end ends a hold, and returns the nodes that may have something of it, and those
// that have not answered its last request. Those are asked by r, if there is one,
// after they have.
func (hs *holds) end(h *hold, r *round) (touched, open uint64) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.endLocked(h, r)
}

// endUngranted is end, unless the hold is a grant, or has made other attempts since
// those.
func (hs *holds) endUngranted(h *hold, asks int) (touched uint64) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.stage != asking || h.asks != asks {
		return 0
	}
	touched, _ = hs.endLocked(h, nil)
	return touched
}

// endLocked is end for a caller that has the mutex.
func (hs *holds) endLocked(h *hold, r *round) (touched, open uint64) {
	h.stage, h.end = over, r
	if r != nil && h.wait != nil {
		hs.ending[h.holder] = h
	}
	if hs.all[h.holder] == h {
		delete(hs.all, h.holder)
	}
	if h.open != 0 {
		hs.past[h.holder] = h
	}
	return h.touched, h.open
}

// answered takes note that a node has no request of a hold any more. The caller has
// the mutex.
func (hs *holds) answered(h *hold, n *node) {
	h.open &^= n.bit()
	if h.open == 0 && hs.past[h.holder] == h {
		delete(hs.past, h.holder)
	}
}

// noteGrant takes note of an answer to an attempt; one that comes when the attempt
// is over is undone.
func (b *backend) noteGrant(h *hold, n *node, got reply) {
	if got.err == errPending { //nolint:errorlint // it is never wrapped
		return // nothing was sent
	}
	left := got.err != nil || got.code == codeGranted || got.code == codeWaiting
	b.holds.mu.Lock()
	if left {
		h.touched |= n.bit()
	}
	if got.code == codeGranted {
		h.have |= n.bit()
	}
	if errors.Is(got.err, errSilent) {
		h.silent |= n.bit()
	}
	h.due &^= n.bit()
	if got.err == nil && got.code == codeWaiting {
		h.due |= n.bit()
	}
	var undo *debt
	end := h.end
	if left && h.stage == over && end == nil {
		if undo = b.undoOf(h); !n.owes.add(undo) {
			undo = nil
		}
	}
	// Only now a new attempt under the same holder id may ask the node.
	b.holds.answered(h, n)
	b.holds.mu.Unlock()
	switch {
	case undo != nil:
		b.payNow(n, undo)
	case end != nil && left:
		end.askLate(n)
	case end != nil:
		end.take(n, reply{answer: answer{code: codeNotMine, word: "-"}})
	}
}

// abandon ends a hold that came to nothing, and has the nodes give back what they
// have of it.
func (b *backend) abandon(h *hold) {
	touched, _ := b.holds.end(h, nil)
	b.undoAll(touched, h)
}

// undoAll has some nodes release a hold.
func (b *backend) undoAll(touched uint64, h *hold) {
	for _, n := range b.nodes {
		if touched&n.bit() != 0 {
			b.undoAt(n, h)
		}
	}
}

// undoAt has one node release a hold and leave its line.
func (b *backend) undoAt(n *node, h *hold) {
	if d := b.undoOf(h); n.owes.add(d) {
		b.payNow(n, d)
	}
}

func (b *backend) undoOf(h *hold) *debt {
	return &debt{
		holder: h.holder, call: b.releaseCall(h.known, h.holder, h.entry, ""), until: time.Now().Add(h.ttl),
	}
}

// releaseCall is the request to release; with a ticket, to stay in line.
func (b *backend) releaseCall(k *known, holder, entry, ticket string) redislock.Call {
	marker := "-"
	if known := b.members.known.Load(); known != nil {
		marker = *known
	}
	return redislock.Call{
		Script: releaseScript, Keys: k.all,
		Args: []string{holder, marker, proposal(), b.keys.kin, entry, ticket},
	}
}

// heardAll takes note that the last round of a hold has ended.
func (b *backend) heardAll(h *hold) {
	b.holds.mu.Lock()
	h.heard = true
	b.holds.mu.Unlock()
	b.tellRedundancy(h)
}

// tellRedundancy tells of what has become known, or has changed.
func (b *backend) tellRedundancy(h *hold) {
	told := b.told.Load()
	b.holds.mu.Lock()
	spare := count(h.have) - b.majority
	news := h.stage == held && h.heard && h.due == 0 && (!h.told || h.spare != spare)
	if news {
		h.told, h.spare = true, spare
	}
	b.holds.mu.Unlock()
	if news && told != nil && told.Redundancy != nil {
		told.Redundancy(h.known.name, h.holder, spare)
	}
}

// Redundancy implements [driver.Redundant].
func (b *backend) Redundancy(grant driver.Grant) (spare int, known bool) {
	b.holds.mu.Lock()
	defer b.holds.mu.Unlock()
	h := b.holds.all[grant.Holder]
	if h == nil || h.stage != held || !h.told {
		return 0, false
	}
	return h.spare, true
}
