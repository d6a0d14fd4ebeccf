package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
)

// lines are what a client waits in: one, or one per slot of a Cluster.
type lines struct {
	b    *backend
	home *line // outside of a Cluster
	mu   sync.Mutex
	of   map[string]*line // by tag, in a Cluster
}

func (ls *lines) init(b *backend) {
	ls.b = b
	ls.home = newLine(b, "")
}

// lineRests is how long a line of a Cluster is kept that nobody waits in.
const lineRests = time.Minute

// get returns a line, which is kept until as many put it back.
func (ls *lines) get(tag string) *line {
	if tag == "" {
		return ls.home
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.of[tag]
	if l == nil {
		l = newLine(ls.b, tag)
		if ls.of == nil {
			ls.of = map[string]*line{}
		}
		ls.of[tag] = l
	}
	l.users++
	if l.rest != nil {
		l.rest.Stop()
		l.rest = nil
	}
	return l
}

// put gives a line back. One of a Cluster stops listening after a while: there
// may be thousands of them.
func (ls *lines) put(l *line) {
	if l.tag == "" {
		return
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	l.rest = time.AfterFunc(lineRests, func() {
		ls.mu.Lock()
		defer ls.mu.Unlock()
		// It may have been taken again while this was waiting for the mutex.
		if l.users == 0 && ls.of[l.tag] == l {
			delete(ls.of, l.tag)
			l.ear.stop()
		}
	})
}

// A line is what all waits of a client on one server, or in one slot, share:
// the inbox, the sign of life, and the base that pushed grants count from.
type line struct {
	b   *backend
	tag string
	ear *ear

	users int         // guarded by the lines
	rest  *time.Timer // guarded by the lines

	waits     waits
	vacancies vacancies

	mu          sync.Mutex
	base        base
	incarnation string
}

// A base is an answered message: a grant whose token is above its counter was
// made after it was sent, on the server that sees the inbox of its epoch.
type base struct {
	sent    driver.Instant
	counter fence.Token
	epoch   string
}

func newLine(b *backend, tag string) *line {
	l := &line{b: b, tag: tag}
	l.ear = newEar(b, func(epoch string) Subscription {
		s := Subscription{Channels: []string{b.keys.inbox(tag, b.client, epoch)}, Sharded: tag != ""}
		if !s.Sharded {
			s.Channels = append(s.Channels, b.lossChannel())
		}
		return s
	})
	l.ear.hear = l.hear
	l.ear.onEpoch = l.begin
	return l
}

// hear sorts what comes in.
func (l *line) hear(epoch, payload string) {
	f := fields(payload)
	switch f.next() {
	case "g":
		p := push{epoch: epoch, holder: f.next()}
		p.token, p.ttl = fence.Token(f.int()), f.millis()
		l.deliver(p)
	case "f":
		holder := f.next()
		if w := l.waits.find(holder); w != nil {
			w.promote(f.millis())
		}
	case "l":
		l.b.hearLoss(epoch, payload)
	}
}

// deliver gives a push to the wait that it is for. One for a wait that was
// given up is returned.
func (l *line) deliver(p push) {
	if w := l.waits.find(p.holder); w != nil {
		w.granted(p)
		return
	}
	if left, ok := l.b.gone.claim(p.holder); ok {
		l.b.work.Go(func() {
			ctx, cancel := context.WithTimeout(l.b.life, time.Second)
			defer cancel()
			// If it fails, the grant ends with its short time.
			_, _ = l.b.release(ctx, left.name, left.holder, left.entry, 0)
		})
	}
}

// enter takes a wait in, before anything of it is sent.
func (l *line) enter(w *wait) {
	if l.waits.add(w) {
		l.b.work.Go(l.ping)
	}
}

func (l *line) leave(w *wait) { l.waits.remove(w.holder) }

// learn takes what an answered message says of the server.
func (l *line) learn(sent driver.Instant, epoch string, s seen) {
	now := l.ear.epoch()
	stands := now.stands && now.id == epoch
	if stands && s.subscribers == 0 {
		// This server is not the one that we listen to.
		l.ear.again(epoch)
	}
	l.mu.Lock()
	newer := l.base.epoch != epoch || l.base.sent.Time().Before(sent.Time())
	if stands && newer && s.subscribers > 0 && s.counter.Valid() {
		l.base = base{sent: sent, counter: s.counter, epoch: epoch}
	}
	changed := l.incarnation != "" && l.incarnation != s.incarnation
	l.incarnation = s.incarnation
	l.mu.Unlock()
	if changed {
		l.checkAll()
	}
}

// trusted returns the base of a push; false if it has none.
func (l *line) trusted(p push) (base, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base, l.base.epoch == p.epoch && p.token > l.base.counter
}

// begin is called with each new subscription: what was published before it is
// lost.
func (l *line) begin() {
	l.checkAll()
	if l.tag == "" {
		l.b.missedLosses()
	}
}

// checkAll has every wait ask the server.
func (l *line) checkAll() { l.waits.each((*wait).poke) }

// ping gives signs of life while there are waits.
func (l *line) ping() {
	for {
		every, waiting := l.pace()
		if !waiting {
			return
		}
		select {
		case <-time.After(every):
			l.pingOnce(every)
		case <-l.b.life.Done():
			return
		}
	}
}

// pace returns how long to pause. Without waits, the pinging ends in the same
// step.
func (l *line) pace() (time.Duration, bool) {
	every := maxPing
	l.waits.each(func(w *wait) { every = min(every, pingEvery(w.req.TTL)) })
	return every, !l.waits.rest()
}

func (l *line) pingOnce(every time.Duration) {
	if l.waits.empty() {
		return
	}
	ctx, cancel := context.WithTimeout(l.b.life, max(every, minLife))
	defer cancel()
	now := l.ear.epoch()
	sent := driver.Now()
	text, err := l.b.conn.Eval(ctx, Call{
		Script: pingScript, Keys: []string{l.b.keys.life(l.tag, l.b.client), l.b.keys.counterOf(l.tag)},
		Args: []string{now.channel, millis(lifeOf(every)), l.tag},
	})
	if err == nil {
		l.learn(sent, now.id, parsePing(text))
	}
}
