package redislock

import (
	"sync"
	"sync/atomic"
	"time"
)

// departed remembers waits that were given up: a release of theirs has to
// leave the line too, and a grant that comes afterwards is to be returned.
type departed struct {
	some  atomic.Bool // most releases are of grants that nobody gave up
	mu    sync.Mutex
	waits map[string]*departure // by the holder id that the wait began with
	last  map[string]*departure // by the one it had last
	prune int                   // drop what has had its time from this many on
}

// departure is what is left of a wait.
type departure struct {
	name   string
	first  string // the holder id that the wait began with
	holder string // the last one
	entry  string // what may stand in line
	until  time.Time
	taken  bool // a grant that came afterwards is being returned
}

// A departure is remembered for as long as its grant could last, and a while
// longer once it was released: a request that is still under way may come then.
const (
	minPrune      = 64
	departedLasts = time.Minute
)

func (d *departed) add(left departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits == nil {
		d.waits, d.last, d.prune = map[string]*departure{}, map[string]*departure{}, minPrune
	}
	if len(d.waits) >= d.prune {
		d.dropOld()
	}
	d.forget(left.first)
	d.waits[left.first], d.last[left.holder] = &left, &left
	d.some.Store(true)
}

// dropOld costs as much as there are, and so is done when they have doubled.
func (d *departed) dropOld() {
	now := time.Now()
	for first, old := range d.waits {
		if now.After(old.until) {
			d.forget(first)
		}
	}
	d.prune = max(minPrune, 2*len(d.waits))
}

func (d *departed) forget(first string) {
	if old := d.waits[first]; old != nil {
		delete(d.waits, first)
		delete(d.last, old.holder)
	}
}

// find returns the wait that began with a holder id.
func (d *departed) find(first string) (departure, bool) {
	if !d.some.Load() {
		return departure{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if left := d.waits[first]; left != nil {
		return *left, true
	}
	return departure{}, false
}

// knows reports whether there is a wait that began with a holder id.
func (d *departed) knows(first string) bool {
	_, known := d.find(first)
	return known
}

// released says that the wait that began with a holder id has left the line.
func (d *departed) released(first string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if left := d.waits[first]; left != nil {
		left.until = time.Now().Add(departedLasts)
	}
}

// claim returns the wait that had a holder id last, for its grant to be
// returned: from then on no repeated attempt can take the wait up again.
func (d *departed) claim(holder string) (departure, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.last[holder]
	if left == nil {
		return departure{}, false
	}
	left.taken = true
	return *left, true
}

// resume takes a wait up again that a repeated attempt goes on with, and
// returns its holder id: "" if there is none, or its grant is being returned.
func (d *departed) resume(first string) (holder string) {
	if !d.some.Load() {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.waits[first]
	if left == nil || left.taken {
		return ""
	}
	d.forget(first)
	return left.holder
}
