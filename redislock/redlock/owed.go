package redlock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/redislock"
)

// owes are the releases that a node has not answered yet. As long as one is owed, or
// is on its way, the node is not asked for the same holder: a release that comes late
// would take away what was granted since.
type owes struct {
	some    atomic.Int32 // how many
	mu      sync.Mutex
	debts   map[string]*owing // by holder
	working bool              // somebody pays what was not answered at once
}

// owing is what a node owes for one holder.
type owing struct {
	latest *debt
	sends  int  // how many are on their way, older ones among them
	paid   bool // the latest was answered
}

// A debt is one release that is owed.
type debt struct {
	holder string
	call   redislock.Call
	until  time.Time // when what it is about has ended by itself
}

// The pause between two attempts to pay what is owed doubles up to maxOwed. payLimit
// is how long one takes at most.
const (
	minOwed  = 10 * time.Millisecond
	maxOwed  = time.Second
	payLimit = 500 * time.Millisecond
)

// maxDebts bounds what one node can owe.
const maxDebts = 10_000

// has reports whether a release is owed for a holder.
func (o *owes) has(holder string) bool {
	if o.some.Load() == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.debts[holder] != nil
}

// add puts a debt in the place of an older one for the same holder. It returns false
// where a node has not answered for so long that it owes too much: what is not added
// must not be sent, and ends with its TTL.
func (o *owes) add(d *debt) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.debts == nil {
		o.debts = map[string]*owing{}
	}
	w := o.debts[d.holder]
	if w == nil {
		if len(o.debts) >= maxDebts {
			return false
		}
		w = &owing{}
		o.debts[d.holder] = w
	}
	w.latest, w.paid = d, false
	o.some.Store(int32(len(o.debts)))
	return true
}

// send takes note that a debt is about to be sent; false if it was paid already, or
// there is a newer one.
func (o *owes) send(d *debt) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.debts[d.holder]
	if w == nil || w.latest != d || w.paid {
		return false
	}
	w.sends++
	return true
}

// sent takes note of the outcome.
func (o *owes) sent(d *debt, answered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.debts[d.holder]
	w.sends--
	w.paid = w.paid || answered && w.latest == d
	if w.paid && w.sends == 0 {
		o.drop(d.holder)
	}
}

func (o *owes) drop(holder string) {
	delete(o.debts, holder)
	o.some.Store(int32(len(o.debts)))
}

// list returns what is owed; what has ended by itself is not.
func (o *owes) list() []*debt {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	var due []*debt
	for holder, w := range o.debts {
		switch {
		case w.sends == 0 && now.After(w.latest.until):
			o.drop(holder)
		case !w.paid:
			due = append(due, w.latest)
		}
	}
	if len(due) == 0 {
		o.working = false
	}
	return due
}

// hire reports whether the caller is to see to it that what is owed is paid.
func (o *owes) hire() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.working {
		return false
	}
	o.working = true
	return true
}

// owedSkips are the nodes that owe a release of a holder.
func (b *backend) owedSkips(holder string) (skip uint64) {
	for _, n := range b.nodes {
		if n.owes.has(holder) {
			skip |= n.bit()
		}
	}
	return skip
}

// payNow has a node do what was added to its debts: at once, or as soon as it
// answers. The caller has entered the backend.
func (b *backend) payNow(n *node, d *debt) {
	b.work.Go(func() {
		if !b.pay(n, d) && n.owes.hire() {
			b.payAll(n)
		}
	})
}

// pay makes one attempt, and reports whether nothing is owed any more.
func (b *backend) pay(n *node, d *debt) bool {
	if !n.owes.send(d) {
		return true
	}
	_, err := n.eval(b.pays.context(payLimit), d.call)
	n.owes.sent(d, err == nil)
	return err == nil
}

// payAll tries until nothing is owed, or the backend is closed: then once more.
func (b *backend) payAll(n *node) {
	for pause, last := minOwed, false; !last; pause = min(2*pause, maxOwed) {
		select {
		case <-time.After(pause):
		case <-b.life.Done():
			last = true
		}
		due := n.owes.list()
		if len(due) == 0 {
			return
		}
		for _, d := range due {
			if !b.pay(n, d) {
				break
			}
			pause = minOwed
		}
	}
}

// unanswered owes a release that a round has sent in vain.
func (b *backend) unanswered(n *node, d *debt) {
	if n.owes.add(d) && n.owes.hire() {
		b.work.Go(func() { b.payAll(n) })
	}
}
