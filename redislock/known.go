package redislock

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// known is what a client remembers of the name of a lock.
type known struct {
	name string
	keys keys
	all  []string // the lock, the counter and the line, as scripts want them

	contested atomic.Int64 // until when it is taken for contested, by the client's own time
}

// contestedFor is how long a lock is taken for contested after somebody else
// was seen to have it. Whoever asks for one that is not, asks for it without
// preparing to wait: that costs less if it is free, and one request more if not.
const contestedFor = 10 * time.Second

// A client that found many locks contested lately takes new ones for contested,
// too: each such adds hotStep to its heat, up to maxHeat, and each that was free takes
// one away.
const (
	hotStep = 8
	hot     = 16
	maxHeat = 64
)

// memory remembers the names that were used last, as many as there are slots.
type memory struct {
	keys  keyspace
	began time.Time
	heat  atomic.Int32
	slots [1024]atomic.Pointer[known]
}

var nameSeed = maphash.MakeSeed()

func (m *memory) init(keys keyspace) { m.keys, m.began = keys, time.Now() }

// of returns what is known of a name. Two goroutines may be told different
// things of one that is new: nothing depends on that but speed.
func (m *memory) of(name string) *known {
	slot := &m.slots[maphash.String(nameSeed, name)%uint64(len(m.slots))]
	if k := slot.Load(); k != nil && k.name == name {
		return k
	}
	k := &known{name: name, keys: m.keys.of(name)}
	k.all = []string{k.keys.lock, k.keys.counter, k.keys.line}
	slot.Store(k)
	return k
}

// contest remembers that somebody else has the lock.
func (m *memory) contest(k *known) {
	k.contested.Store(int64(time.Since(m.began) + contestedFor))
	if heat := m.heat.Load(); heat < maxHeat {
		m.heat.Store(min(heat+hotStep, maxHeat)) // two at the same moment may count as one
	}
}

// cool remembers that a lock was free.
func (m *memory) cool() {
	if heat := m.heat.Load(); heat > 0 {
		m.heat.Store(heat - 1)
	}
}

// calm reports whether a lock is likely to be free.
func (m *memory) calm(k *known) bool {
	until := k.contested.Load()
	if until == 0 {
		return m.heat.Load() < hot
	}
	return int64(time.Since(m.began)) > until
}
