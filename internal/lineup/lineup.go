// Package lineup lets goroutines queue up by name, first come first served.
package lineup

import (
	"context"
	"hash/maphash"
	"slices"
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
	lines map[string][]*Place
}

var seed = maphash.MakeSeed()

func (l *Lineup) shard(name string) *shard {
	return &l.shards[maphash.String(seed, name)%uint64(len(l.shards))]
}

// Place is one place in a line.
type Place struct {
	name string
	turn chan struct{} // nil if the line was empty
}

// Join takes the last place of the line for name.
func (l *Lineup) Join(name string) *Place {
	u := l.shard(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lines == nil {
		u.lines = map[string][]*Place{}
	}
	p := &Place{name: name}
	if len(u.lines[name]) > 0 {
		p.turn = make(chan struct{})
	}
	u.lines[name] = append(u.lines[name], p)
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
