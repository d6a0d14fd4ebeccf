package testcluster

import (
	"bytes"
	"slices"
	"time"
)

// rules are the orders that a proxy has about what passes.
type rules struct {
	cut               bool
	delay, replyDelay time.Duration
	holds, replyHolds []*Hold
	swallows          []*swallow
	observe           func([]byte)
}

// swallow is an order of [Proxy.SwallowReply].
type swallow struct {
	match []byte
	left  int // how many requests it is still for
}

// SwallowReply lets the next n requests that contain match reach the server,
// each on its own connection, and swallows whatever the server answers on that
// connection from then on. Once the server has done all that it was sent, the
// connection is closed.
func (p *Proxy) SwallowReply(match string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.swallows = append(p.rules.swallows, &swallow{match: []byte(match), left: n})
}

// swallows takes one from the orders of SwallowReply that are for a request,
// and tells whether there was one.
func (p *Proxy) swallows(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.rules.swallows, func(s *swallow) bool {
		return s.left > 0 && bytes.Contains(request, s.match)
	})
	if i < 0 {
		return false
	}
	p.rules.swallows[i].left--
	return true
}

// OnRequest has f called for each request that a client sends, before it is
// delayed, held or lost. The next one of the connection waits for f, which may
// keep the bytes and must not call methods of the proxy that wait. nil ends it.
func (p *Proxy) OnRequest(f func(request []byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.observe = f
}

// request tells the observer of a request and returns when it is due.
func (p *Proxy) request(b []byte) time.Time {
	p.mu.Lock()
	observe, delay := p.rules.observe, p.rules.delay
	p.mu.Unlock()
	due := time.Now().Add(delay)
	if observe != nil {
		observe(b)
	}
	return due
}

// reply returns when what the server has sent is due.
func (p *Proxy) reply([]byte) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.rules.replyDelay)
}
