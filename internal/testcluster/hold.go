package testcluster

import (
	"bytes"
	"slices"
	"sync"
)

// Hold keeps back what passes a proxy in one direction.
type Hold struct {
	match    []byte
	see      func() // closes seen
	seen     chan struct{}
	release  func() // closes released
	released chan struct{}
}

// HoldRequests keeps back, until [Hold.Release], each request that contains
// match and all that follow it on the same connection. If the client leaves
// meanwhile, the requests still reach the server when they are released.
func (p *Proxy) HoldRequests(match string) *Hold {
	h := newHold(match)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.holds = append(p.rules.holds, h)
	return h
}

// HoldReplies does the same with what the server sends, pushes among it. It is
// looked at in pieces as they come, not answer by answer.
func (p *Proxy) HoldReplies(match string) *Hold {
	h := newHold(match)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.replyHolds = append(p.rules.replyHolds, h)
	return h
}

// newHold returns a hold that has seen nothing.
func newHold(match string) *Hold {
	h := &Hold{match: []byte(match), seen: make(chan struct{}), released: make(chan struct{})}
	h.see = sync.OnceFunc(func() { close(h.seen) })
	h.release = sync.OnceFunc(func() { close(h.released) })
	return h
}

// Seen returns a channel that is closed when the first match is kept back.
func (h *Hold) Seen() <-chan struct{} { return h.seen }

// Release lets everything pass that was kept back, and keeps back nothing more.
func (h *Hold) Release() { h.release() }

// active tells whether the hold is for these bytes.
func (h *Hold) active(b []byte) bool {
	select {
	case <-h.released:
		return false
	default:
		return bytes.Contains(b, h.match)
	}
}

// held returns the holds that are for bytes of one direction.
func (p *Proxy) held(of *[]*Hold, b []byte) []*Hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(*of), func(h *Hold) bool { return !h.active(b) })
}
