// Package lineup lets goroutines queue up by name, first come first served.
package lineup

import (
	"context"
	"hash/maphash"
	"sync"
)

// Lineup keeps one line of goroutines per name. A line lives as long as
// somebody stands in it. The zero Lineup is empty.
type Lineup struct {
	shards [64]shard
}

// shard has some of the lines: hundreds of goroutines that come for locks of
// their own would else meet at one mutex.
type shard struct {
	mu    sync.Mutex
	lines map[string]line
}

// line is a list of places; most lines have one.
type line struct{ first, last *Place }

var seed = maphash.MakeSeed()

func (l *Lineup) shard(name string) *shard {
	return &l.shards[maphash.String(seed, name)%uint64(len(l.shards))]
}

// Place is one place in a line.
type Place struct {
	name string
	turn chan struct{} // nil if the line was empty
	next *Place        // who stands behind
}

// Join takes the last place of the line for name.
func (l *Lineup) Join(name string) *Place {
	u := l.shard(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lines == nil {
		u.lines = map[string]line{}
	}
	p := &Place{name: name}
	places := u.lines[name]
	if places.last == nil {
		places.first = p
	} else {
		p.turn = make(chan struct{})
		places.last.next = p
	}
	places.last = p
	u.lines[name] = places
	return p
}

// Wait returns nil at the front of the line, or the cause of ctx's end.
func (p *Place) Wait(ctx context.Context) error {
	if p.turn == nil {
		return nil
	}
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave gives the place up. Leaving the front calls up the next one, even if
// that is just giving up itself: it will leave in its turn.
func (l *Lineup) Leave(p *Place) {
	u := l.shard(p.name)
	u.mu.Lock()
	defer u.mu.Unlock()
	places := u.lines[p.name]
	if places.first == p {
		u.advance(places)
		return
	}
	before := places.first
	for before.next != p {
		before = before.next
	}
	before.next = p.next
	if places.last == p {
		places.last = before
		u.lines[p.name] = places
	}
}

// advance calls up who stands behind the front of a line, which leaves.
func (s *shard) advance(places line) {
	left := places.first
	if left.next == nil {
		delete(s.lines, left.name)
		return
	}
	places.first = left.next
	s.lines[left.name] = places
	close(places.first.turn)
}
