//go:build linux

package main

import (
	"sync"
	"time"
)

// lookEvery is how often the guard looks for waits that are stuck.
const lookEvery = 50 * time.Millisecond

// guard watches that nobody waits in vain.
type guard struct {
	books *ledger
	end   chan struct{}
	ended sync.WaitGroup

	mu    sync.Mutex
	up    time.Time // since when the server runs; zero: it does not
	found []string
}

// watch starts a guard. The server runs.
func watch(books *ledger) *guard {
	g := &guard{books: books, end: make(chan struct{}), up: time.Now()}
	g.ended.Go(g.look)
	return g
}

func (g *guard) serverDown() { g.setUp(time.Time{}) }
func (g *guard) serverUp()   { g.setUp(time.Now()) }

func (g *guard) setUp(since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.up = since
}

// look looks until the guard is stopped.
func (g *guard) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.examine(time.Now())
		case <-g.end:
			return
		}
	}
}

// examine notes one wait that is stuck, and then gives everybody time again.
func (g *guard) examine(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.up.IsZero() || now.Sub(g.up) < stuckTime {
		return
	}
	if found := g.books.stuck(now.Add(-stuckTime)); found != "" {
		g.found = append(g.found, found)
		g.up = now
	}
}

// stop ends the guard, and returns what it found.
func (g *guard) stop() []string {
	close(g.end)
	g.ended.Wait()
	return g.found
}
