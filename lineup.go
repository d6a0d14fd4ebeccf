package fencehold

import (
	"context"
	"slices"
	"sync"
)

// A lineup keeps one line of goroutines per lock. Only the front of a line
// speaks to the backend, so that a client is one waiter there. A line lives as
// long as somebody stands in it.
type lineup struct {
	mu    sync.Mutex
	lines map[string][]*place
}

// A place in a line. Its turn is nil if the line was empty.
type place struct {
	name string
	turn chan struct{}
}

// join takes the last place of the line for name.
func (u *lineup) join(name string) *place {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lines == nil {
		u.lines = map[string][]*place{}
	}
	p := &place{name: name}
	if len(u.lines[name]) > 0 {
		p.turn = make(chan struct{})
	}
	u.lines[name] = append(u.lines[name], p)
	return p
}

// wait returns nil at the front of the line, or ctx's error.
func (p *place) wait(ctx context.Context) error {
	if p.turn == nil {
		return nil
	}
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// leave gives the place up. Leaving the front calls up the next one, even if
// that is just giving up itself: it will leave in its turn.
func (u *lineup) leave(p *place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	line := u.lines[p.name]
	i := slices.Index(line, p)
	line = slices.Delete(line, i, i+1)
	if len(line) == 0 {
		delete(u.lines, p.name)
		return
	}
	u.lines[p.name] = line
	if i == 0 {
		close(line[0].turn)
	}
}
