package testcluster

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy passes TCP connections on to one address, and breaks them at will. It
// knows where requests of the Redis protocol begin and end, so that one request
// is treated alone even if several are sent at once; other protocols, TLS among
// them, pass in pieces as they come.
//
// What its methods order holds when they return. They may be called from
// several goroutines.
type Proxy struct {
	tb     TB
	target string
	port   int
	work   sync.WaitGroup // every goroutine

	mu       sync.Mutex // guards what follows
	listener net.Listener
	closed   bool
	links    map[*link]struct{}
	rules    rules
}

// StartProxy starts a proxy for a TCP address such as [Redis.Addr]. The target
// need not be there yet; while it is not, connections are reset.
func StartProxy(tb TB, target string) *Proxy {
	tb.Helper()
	p := &Proxy{tb: tb, target: target, links: map[*link]struct{}{}}
	tb.Cleanup(p.end)
	if err := p.find(); err != nil {
		tb.Fatalf("proxy for %s: %v", target, err)
	}
	return p
}

// find makes the proxy listen at a port that it finds.
func (p *Proxy) find() error {
	for {
		port, err := takePort()
		if err != nil {
			return err
		}
		p.port = port
		if p.listen() == nil {
			return nil
		}
	}
}

// end closes everything and waits for all goroutines.
func (p *Proxy) end() {
	p.mu.Lock()
	p.closed = true
	p.deafen()
	p.closeLinks(func(*link) bool { return true })
	p.mu.Unlock()
	p.work.Wait()
	returnPort(p.port)
}

// Addr returns the address for clients, 127.0.0.1:port. It stays the same.
func (p *Proxy) Addr() string { return loopback(p.port) }

// Port returns the port of [Proxy.Addr].
func (p *Proxy) Port() int { return p.port }

// Connections returns how many clients are connected.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for l := range p.links {
		if !l.left.Load() {
			n++
		}
	}
	return n
}

// Cut makes the network swallow everything, in both directions, in silence:
// connections stay open, and new ones are accepted. What was read and not yet
// passed on is lost too.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.cut = true
	for l := range p.links {
		l.silence()
	}
}

// Reset closes all present connections as a crash of the other side would
// (RST), on both sides.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeLinks(func(l *link) bool { l.harden(); return true })
}

// Refuse makes new connections fail; present ones stay.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deafen()
}

// Heal undoes [Proxy.Cut] and [Proxy.Refuse]. Connections that were silent are
// closed, because they have lost data.
func (p *Proxy) Heal() {
	p.tb.Helper()
	if err := p.heal(); err != nil {
		p.tb.Fatalf("proxy for %s: listen again: %v", p.target, err)
	}
}

// heal is Heal without the test.
func (p *Proxy) heal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.cut = false
	p.closeLinks((*link).silent)
	if p.listener != nil || p.closed {
		return nil
	}
	return p.listenLocked()
}

// Delay holds every request back for d, counted from when the proxy reads it.
// Several may be under way at once; their order stays. 0 ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.delay = d
}

// DelayReplies holds back for d whatever the server sends, as [Proxy.Delay].
func (p *Proxy) DelayReplies(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.replyDelay = d
}

// listen makes the proxy accept connections.
func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listenLocked()
}

// listenLocked is listen for a caller that has the mutex.
func (p *Proxy) listenLocked() error {
	l, err := net.Listen("tcp", loopback(p.port))
	if err != nil {
		return fmt.Errorf("port %d: %w", p.port, err)
	}
	p.listener = l
	p.work.Go(func() { p.accept(l) })
	return nil
}

// deafen ends listening. The caller has the mutex.
func (p *Proxy) deafen() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// closeLinks closes those links that which is true for. The caller has the
// mutex.
func (p *Proxy) closeLinks(which func(*link) bool) {
	for l := range p.links {
		if which(l) {
			l.close()
			delete(p.links, l)
		}
	}
}

// accept serves the clients of one listener.
func (p *Proxy) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.serve(c.(*net.TCPConn)) })
	}
}
