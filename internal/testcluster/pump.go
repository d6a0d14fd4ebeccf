package testcluster

import "time"

// requests passes on what the client sends, to its end.
func (l *link) requests() {
	pieces := make(chan piece, queue)
	l.proxy.work.Go(func() {
		l.read(newReader(l.client).request, l.proxy.request, pieces)
		l.left.Store(true)
		close(pieces)
	})
	for c := range pieces {
		l.wait(c, &l.proxy.rules.holds)
		if l.forward(c.data) {
			break
		}
	}
	// The end of the client follows its last request, however late that is:
	// the server must have read it.
	if l.server != nil {
		l.unlessMute(func() { _ = l.server.CloseWrite() })
	}
	for range pieces { // lost
	}
}

// forward sends a request to the server and tells whether it is the last one.
func (l *link) forward(request []byte) (last bool) {
	last = l.proxy.swallows(request)
	if last {
		l.swallowed.Store(true)
	}
	l.unlessMute(func() { _, _ = l.server.Write(request) })
	return last
}

// replies passes on what the server sends, and closes the link after it.
func (l *link) replies() {
	if l.server == nil {
		<-l.gone
		return
	}
	pieces := make(chan piece, queue)
	l.proxy.work.Go(func() {
		l.read(newReader(l.server).piece, l.proxy.reply, pieces)
		close(pieces)
	})
	for c := range pieces {
		l.wait(c, &l.proxy.rules.replyHolds)
		if !l.swallowed.Load() {
			l.unlessMute(func() { _, _ = l.client.Write(c.data) })
		}
	}
	// A client must not learn through a cut network that the server has gone.
	if l.silent() {
		<-l.gone
	}
	l.close()
}

// piece is what passes at once, and when.
type piece struct {
	data []byte
	due  time.Time
}

// queue is how many pieces a link has under way in one direction; more are not
// read.
const queue = 1024

// read puts everything that next returns into the queue, up to an error.
func (l *link) read(next func() ([]byte, error), due func([]byte) time.Time, to chan<- piece) {
	for {
		b, err := next()
		if len(b) > 0 {
			select {
			case to <- piece{b, due(b)}:
			case <-l.gone:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait returns when a piece may pass.
func (l *link) wait(c piece, holds *[]*Hold) {
	if rest := time.Until(c.due); rest > 0 {
		l.pause(rest)
	}
	for _, h := range l.proxy.held(holds, c.data) {
		h.see()
		select {
		case <-h.released:
		case <-l.gone:
		}
	}
}

// pause returns after d, or with the link.
func (l *link) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.gone:
	}
}
