package redislock

import (
	"sync"
	"sync/atomic"
)

// waits are those of one line, by holder id. Hundreds of goroutines that come
// for locks of their own would meet at one mutex, so there are some.
type waits struct {
	count   atomic.Int64
	pinging atomic.Bool
	shards  [16]waitShard
}

type waitShard struct {
	mu sync.Mutex
	of map[string]*wait
}

func (ws *waits) shard(holder string) *waitShard {
	if holder == "" {
		return &ws.shards[0]
	}
	// Holder ids are random.
	return &ws.shards[int(holder[len(holder)-1])%len(ws.shards)]
}

// add takes a wait in. It returns true if somebody has to begin to ping.
func (ws *waits) add(w *wait) bool {
	s := ws.shard(w.holder)
	s.mu.Lock()
	if s.of == nil {
		s.of = map[string]*wait{}
	}
	s.of[w.holder] = w
	s.mu.Unlock()
	ws.count.Add(1)
	return !ws.pinging.Load() && ws.pinging.CompareAndSwap(false, true)
}

func (ws *waits) remove(holder string) {
	s := ws.shard(holder)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.of[holder]; ok {
		delete(s.of, holder)
		ws.count.Add(-1)
	}
}

// find returns a wait, or nil.
func (ws *waits) find(holder string) *wait {
	s := ws.shard(holder)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[holder]
}

// each calls do for every wait.
func (ws *waits) each(do func(*wait)) {
	for i := range ws.shards {
		s := &ws.shards[i]
		s.mu.Lock()
		for _, w := range s.of {
			do(w)
		}
		s.mu.Unlock()
	}
}

func (ws *waits) empty() bool { return ws.count.Load() == 0 }

// rest ends the pinging if there are no waits. A wait that comes at the same
// moment either sees that, and begins anew, or is seen.
func (ws *waits) rest() bool {
	if !ws.empty() {
		return false
	}
	ws.pinging.Store(false)
	return ws.empty() || !ws.pinging.CompareAndSwap(false, true)
}
