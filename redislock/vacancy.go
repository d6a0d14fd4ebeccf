package redislock

import (
	"sync"
	"sync/atomic"
	"time"
)

// A vacancy is a place in line that a wait has given up. The place belongs to
// the client: who waits behind it there, and asks next, takes it over.
type vacancy struct {
	ticket string
	until  time.Time
}

// vacancyLasts is how long a place is kept: the next goroutine in the core's
// line comes at once.
const vacancyLasts = 100 * time.Millisecond

// vacancies are the places of a line that were given up, by lock.
type vacancies struct {
	some atomic.Bool
	mu   sync.Mutex
	of   map[string]vacancy
}

// leave leaves a place to the next wait for a lock.
func (vs *vacancies) leave(name, ticket string) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	now := time.Now()
	for other, v := range vs.of {
		if now.After(v.until) {
			delete(vs.of, other)
		}
	}
	if vs.of == nil {
		vs.of = map[string]vacancy{}
	}
	vs.of[name] = vacancy{ticket: ticket, until: now.Add(vacancyLasts)}
	vs.some.Store(true)
}

// take takes over a place that was given up; false if there is none.
func (vs *vacancies) take(name string) (ticket string, ok bool) {
	if !vs.some.Load() {
		return "", false
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v, ok := vs.of[name]
	delete(vs.of, name)
	vs.some.Store(len(vs.of) > 0)
	return v.ticket, ok && time.Now().Before(v.until)
}
