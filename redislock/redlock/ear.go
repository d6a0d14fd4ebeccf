package redlock

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// The pause before listening again after a failure doubles up to maxDeaf; one
// that only an operator can end is waited out longer.
const (
	minDeaf    = 5 * time.Millisecond
	maxDeaf    = time.Second
	deniedDeaf = 10 * time.Second
)

// An ear listens to the inbox of this client at one node, from the first time that
// somebody waits or has a grant.
type ear struct {
	b      *backend
	n      *node
	once   sync.Once
	stands atomic.Bool
}

func newEar(b *backend, n *node) *ear { return &ear{b: b, n: n} }

// start begins to listen, once. The caller has entered the backend.
func (e *ear) start() {
	e.once.Do(func() { e.b.work.Go(e.run) })
}

// run listens for as long as the backend lives.
func (e *ear) run() {
	for pause := minDeaf; e.b.life.Err() == nil; pause = min(2*pause, maxDeaf) {
		began := time.Now()
		err := e.attend()
		if time.Since(began) > maxDeaf {
			pause = minDeaf
		}
		wait := pause + rand.N(pause)
		if refusal.Code(refusal.Explain(err)) == "NOPERM" {
			wait = deniedDeaf
		}
		select {
		case <-time.After(wait):
		case <-e.b.life.Done():
		}
	}
}

// attend listens until the subscription is lost.
func (e *ear) attend() error {
	conn, err := e.n.conn()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- conn.Subscribe(e.b.life, redislock.Subscription{
			Channels: []string{e.b.keys.inbox(e.b.client)},
			Ready:    func() { e.turn(true) },
			Message:  e.hear,
		})
	}()
	err = e.await(ended)
	e.turn(false)
	return err
}

// await returns when the subscription has ended, or soon after the backend has: a
// silent server says only late that it has unsubscribed.
func (e *ear) await(ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-e.b.life.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(closeLimit):
		return e.b.life.Err()
	}
}

// turn takes note of whether the ear listens. What was published before a majority
// did may have been missed.
func (e *ear) turn(on bool) {
	if e.stands.Swap(on) == on {
		return
	}
	if !on {
		e.b.listening.Add(-1)
		return
	}
	if int(e.b.listening.Add(1)) != e.b.majority {
		return
	}
	e.b.pass()
	if told := e.b.told.Load(); told != nil && told.Missed != nil {
		told.Missed()
	}
}

// hear sorts what comes in: "g HOLDER KEY" is a lock that was handed over, and
// "l HOLDER WORD NAME" a grant that was revoked.
func (e *ear) hear(payload string) {
	f := fields(payload)
	switch f.next() {
	case "g":
		e.b.handed(e.n, f.next(), string(f))
	case "l":
		holder, word := f.next(), f.next()
		if name, err := strconv.Unquote(string(f)); err == nil {
			e.b.revoked(e.n, name, holder, word)
		}
	}
}

// handed tells a wait that a node has handed it the lock. A holder gets one node
// more; for one that neither waits nor holds the node is told to go on.
func (b *backend) handed(n *node, holder, key string) {
	h, known := b.holds.known(holder)
	if h == nil {
		if known {
			return
		}
		if name, ok := b.keys.lockName(key); ok && b.begin() == nil {
			b.undoAt(n, &hold{known: b.keys.of(name), holder: holder, ttl: maxGrant})
			b.work.Done()
		}
		return
	}
	b.holds.mu.Lock()
	h.touched |= n.bit()
	standing := h.stage == held
	b.holds.mu.Unlock()
	switch {
	case standing:
		b.prolong(n, h)
	case h.wait != nil:
		h.wait.hear(n)
	}
}

// prolong has a node that was handed to a holder keep that for as long as the others:
// a hand-over is short.
func (b *backend) prolong(n *node, h *hold) {
	if b.begin() != nil {
		return
	}
	b.work.Go(func() {
		a, err := n.eval(b.pays.context(payLimit), redislock.Call{
			Script: renewScript, Keys: h.known.all[:2], Args: []string{h.holder, millis(h.ttl), "0", b.keys.kin},
		})
		b.holds.mu.Lock()
		h.due &^= n.bit()
		if err == nil && a.code == codeGranted && h.stage == held {
			h.have |= n.bit()
		}
		b.holds.mu.Unlock()
		b.tellRedundancy(h)
	})
	b.work.Done()
}

// revoked tells of the loss of a grant once a majority has said so.
func (b *backend) revoked(n *node, name, holder, word string) {
	told, h := b.told.Load(), b.holds.find(holder)
	if told == nil || h == nil || h.known.name != name {
		return
	}
	b.holds.mu.Lock()
	h.revoked |= n.bit()
	lost := count(h.revoked) >= b.majority
	b.holds.mu.Unlock()
	if lost {
		told.Lost(name, holder, record.ParseWord(word))
	}
}

// listen starts all ears.
func (b *backend) listen() {
	for _, n := range b.nodes {
		n.ear.start()
	}
}

// listenForLosses begins to listen with the first grant, if anybody is to be told.
func (b *backend) listenForLosses() {
	if b.told.Load() != nil {
		b.listen()
	}
}

// hears reports whether a majority of the ears listens.
func (b *backend) hears() bool { return int(b.listening.Load()) >= b.majority }

// pass tells the next one who waits for the ears.
func (b *backend) pass() {
	select {
	case b.hearing <- struct{}{}:
	default: // it is told already
	}
}

// awaitEars returns when a majority of the ears listens, or limit is over, or a
// context ends.
func (b *backend) awaitEars(ctx context.Context, limit time.Duration) {
	b.listen()
	if b.hears() {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-b.hearing:
		b.pass()
	case <-timer.C:
	case <-ctx.Done():
	case <-b.life.Done():
	}
}
