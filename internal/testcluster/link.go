package testcluster

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection through a proxy.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	server *net.TCPConn  // nil if the client came while the network was cut
	gone   chan struct{} // closed with the link
	close  func()        // closes both sides, once

	left      atomic.Bool // the client has gone
	swallowed atomic.Bool // what the server answers is not passed on

	mu   sync.RWMutex // read-locked for each write, so that a cut is sharp
	mute bool         // nothing passes any more; guarded by mu
}

// newLink returns the link of two connections; server may be nil.
func newLink(p *Proxy, client, server *net.TCPConn) *link {
	l := &link{proxy: p, client: client, server: server, gone: make(chan struct{})}
	l.close = sync.OnceFunc(func() {
		close(l.gone)
		_ = client.Close()
		if server != nil {
			_ = server.Close()
		}
	})
	return l
}

// harden makes the coming close one that resets.
func (l *link) harden() {
	_ = l.client.SetLinger(0)
	if l.server != nil {
		_ = l.server.SetLinger(0)
	}
}

// silence lets nothing pass any more.
func (l *link) silence() {
	// A write to somebody who reads nothing would keep the mutex.
	l.stopWrites()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = true
}

// stopWrites makes writes fail, those under way among them.
func (l *link) stopWrites() {
	_ = l.client.SetWriteDeadline(time.Unix(1, 0))
	if l.server != nil {
		_ = l.server.SetWriteDeadline(time.Unix(1, 0))
	}
}

// silent tells whether nothing passes any more.
func (l *link) silent() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mute
}

// unlessMute does something with one of the connections unless the network is
// cut.
func (l *link) unlessMute(do func()) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.mute {
		do()
	}
}

// serve connects a client to the target and passes everything on.
func (p *Proxy) serve(client *net.TCPConn) {
	l := newLink(p, client, nil)
	if !p.isCut() {
		server, err := (&net.Dialer{Timeout: dialLimit}).Dial("tcp", p.target)
		if err != nil {
			l.harden()
			l.close()
			return
		}
		l = newLink(p, client, server.(*net.TCPConn))
	}
	if !p.add(l) {
		l.close()
		return
	}
	defer p.remove(l)
	var pumps sync.WaitGroup
	pumps.Go(l.requests)
	pumps.Go(l.replies)
	pumps.Wait()
}

// isCut tells whether the network is cut.
func (p *Proxy) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules.cut
}

// add takes a link up, unless the proxy has ended or the network was healed
// while the link had no server.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || l.server == nil && !p.rules.cut {
		return false
	}
	if p.rules.cut {
		l.silence()
	}
	p.links[l] = struct{}{}
	return true
}

// remove closes a link and forgets it.
func (p *Proxy) remove(l *link) {
	l.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
