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
	waits map[string]departure // by the holder id that the wait began with
}

// departure is what is left of a wait.
type departure struct {
	name   string
	holder string // the last one
	entry  string // what may stand in line
	until  time.Time
}

// pruneAbove is from how many on those that have had their time are dropped.
const pruneAbove = 64

func (d *departed) add(first string, left departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits == nil {
		d.waits = map[string]departure{}
	}
	if now := time.Now(); len(d.waits) >= pruneAbove {
		for holder, old := range d.waits {
			if now.After(old.until) {
				delete(d.waits, holder)
			}
		}
	}
	d.waits[first] = left
	d.some.Store(true)
}

// find returns the wait that began with a holder id.
func (d *departed) find(first string) (departure, bool) {
	if !d.some.Load() {
		return departure{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left, ok := d.waits[first]
	return left, ok
}

// holding returns the wait that ended with a holder id.
func (d *departed) holding(holder string) (departure, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, left := range d.waits {
		if left.holder == holder {
			return left, true
		}
	}
	return departure{}, false
}
