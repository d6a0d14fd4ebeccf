//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// contenderID is a goroutine of a process.
type contenderID struct{ process, goroutine int }

// stay is the time during which somebody believed to have a lock, by
// [monotonic], at least.
type stay struct {
	who      contenderID
	name     string
	token    int64
	from, to int64
}

// tally counts events.
type tally struct{ grants, lost, failed int }

// ledger keeps what clients told.
type ledger struct {
	mu      sync.Mutex
	stays   []*stay
	open    map[contenderID]*stay
	waiting map[contenderID]wait
	idle    map[string]time.Time // since when nobody alive has the lock, or a waiter of it died
	count   tally
}

// wait is that of somebody who is alive.
type wait struct {
	name  string
	since time.Time
}

func newLedger() *ledger {
	return &ledger{
		open: map[contenderID]*stay{}, waiting: map[contenderID]wait{}, idle: map[string]time.Time{},
	}
}

// record takes down one event.
func (l *ledger) record(process int, e event, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	who := contenderID{process, e.goroutine}
	switch e.kind {
	case waits:
		l.waiting[who] = wait{e.name, now}
	case granted:
		l.count.grants++
		delete(l.waiting, who)
		s := &stay{who: who, name: e.name, token: e.token, from: e.at, to: e.at}
		l.stays, l.open[who] = append(l.stays, s), s
	case uses:
		l.open[who].to = e.at
	case failed:
		l.count.failed++
		delete(l.waiting, who)
	case lost:
		l.count.lost++
		l.end(who, e.name, now)
	case ended:
		l.end(who, e.name, now)
	}
}

// end closes a stay, which a lease that came too late does not have.
func (l *ledger) end(who contenderID, name string, now time.Time) {
	delete(l.waiting, who)
	delete(l.open, who)
	l.idle[name] = now
}

// gone takes down that a process has ended.
func (l *ledger) gone(process int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for who, w := range l.waiting {
		// It may have been granted the lock and not come to say so.
		if who.process == process {
			l.end(who, w.name, now)
		}
	}
	for who, s := range l.open {
		if who.process == process {
			l.end(who, s.name, now)
		}
	}
}

// stuck describes a wait, for a lock that nobody has, that began before the
// given moment and has lasted since; empty if there is none.
func (l *ledger) stuck(before time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := map[string]bool{}
	for _, s := range l.open {
		held[s.name] = true
	}
	for who, w := range l.waiting {
		if !held[w.name] && w.since.Before(before) && l.idle[w.name].Before(before) {
			return fmt.Sprintf("process %d, goroutine %d waits for %s, which nobody has, since %v",
				who.process, who.goroutine, w.name, time.Since(w.since).Round(time.Millisecond))
		}
	}
	return ""
}

func (l *ledger) tally() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// check compares each stay with those of the same lock before it.
func (l *ledger) check() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.stays, func(a, b *stay) int { return cmp.Compare(a.from, b.from) })
	var violations []string
	longest, highest := map[string]*stay{}, map[string]*stay{}
	for _, s := range l.stays {
		if before := longest[s.name]; before != nil && before.to >= s.from {
			violations = append(violations, fmt.Sprintf("two holders of %s at once: %+v and %+v", s.name, *before, *s))
		}
		if before := highest[s.name]; before != nil && before.token >= s.token {
			violations = append(violations, fmt.Sprintf("token of %s does not grow: %+v and %+v", s.name, *before, *s))
		}
		if before := longest[s.name]; before == nil || s.to > before.to {
			longest[s.name] = s
		}
		if before := highest[s.name]; before == nil || s.token > before.token {
			highest[s.name] = s
		}
	}
	return violations
}
