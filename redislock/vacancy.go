package redislock

import "time"

// A vacancy is a place in line that a wait has given up. The place belongs to
// the client: who waits behind it there, and asks next, takes it over.
type vacancy struct {
	ticket string
	until  time.Time
}

// vacancyLasts is how long a place is kept: the next goroutine in the core's
// line comes at once.
const vacancyLasts = 100 * time.Millisecond

// vacate leaves a place to the next wait for a lock.
func (l *line) vacate(name, ticket string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for other, v := range l.vacant {
		if now.After(v.until) {
			delete(l.vacant, other)
		}
	}
	if l.vacant == nil {
		l.vacant = map[string]vacancy{}
	}
	l.vacant[name] = vacancy{ticket: ticket, until: now.Add(vacancyLasts)}
}

// succeed takes over a place that was given up; false if there is none.
func (l *line) succeed(name string) (ticket string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.vacant[name]
	delete(l.vacant, name)
	return v.ticket, ok && time.Now().Before(v.until)
}
