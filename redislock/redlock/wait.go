package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/record"
)

// maxGrant is the longest time of a lock that was handed over: a waiter that dies at
// the wrong moment costs no more.
const maxGrant = time.Second

// bargeShift puts the tickets of those who barge before all others.
const bargeShift = 1 << 52

// A wait asks again when a majority has sent word, or gather after the first; without
// word slack after the time of the holder, and rankStep later for each one before it,
// and at least every maxRest.
const (
	gather   = 3 * time.Millisecond
	slack    = 2 * time.Millisecond
	rankStep = 5 * time.Millisecond
	maxRank  = 100
	maxRest  = time.Second
)

// Behind a stranger, who will leave without a word, the front asks every minStrange to
// maxStrange. So do all while too few ears listen.
const (
	minStrange = 20 * time.Millisecond
	maxStrange = 40 * time.Millisecond
)

// The pause between two asks without news begins with minPause, and doubles up to
// maxPause while nobody has a majority.
const (
	minPause = 5 * time.Millisecond
	maxPause = 320 * time.Millisecond
)

// earLimit is how long a wait lets the ears come before it asks.
const earLimit = 500 * time.Millisecond

// A wait is one request that stands in the lines of the nodes.
type wait struct {
	b      *backend
	req    driver.Request
	hold   *hold
	ticket string
	call   redislock.Call
	stood  bool          // a majority has had it in line
	pause  time.Duration // since the last news
	last   error         // what was heard last

	heard atomic.Uint64 // the nodes that sent word since the last ask
	news  chan struct{} // there is word
}

// Acquire implements [driver.Queuer].
func (b *backend) Acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := b.checkTTL(req.TTL); err != nil {
		return driver.Grant{}, err
	}
	if err := b.enter(ctx); err != nil {
		return driver.Grant{}, err
	}
	defer b.work.Done()
	marker, err := b.readyFor(ctx, req.TTL)
	if err != nil {
		return driver.Grant{}, err
	}
	k := b.keys.of(req.Name)
	var last error
	if req.Barging || b.keys.calm(k) || !b.hears() || b.holds.find(req.Holder) != nil {
		grant, err := b.try(ctx, req, marker)
		if !errors.Is(err, fencehold.ErrHeld) {
			return grant, err
		}
		last = err
	}
	w := b.newWait(req, k, marker)
	w.last = last
	return w.stand(ctx)
}

// stand waits in line.
func (w *wait) stand(ctx context.Context) (driver.Grant, error) {
	b := w.b
	b.holds.begin(w.hold)
	b.awaitEars(ctx, earLimit)
	grant, err := w.run(ctx)
	if err != nil {
		b.abandon(w.hold)
	}
	return grant, err
}

// newWait returns a wait under a holder id of its own: for that of an earlier attempt
// a release may be on its way.
func (b *backend) newWait(req driver.Request, k *known, marker string) *wait {
	req.Holder = driver.NewHolder()
	w := &wait{b: b, req: req, news: make(chan struct{}, 1), pause: minPause}
	us := time.Now().UnixMicro()
	if req.Barging {
		us -= bargeShift
	}
	w.ticket = strconv.FormatInt(us, 10)
	gttl := millis(min(req.TTL, maxGrant))
	h := &hold{known: k, holder: req.Holder, meta: b.describer.Describe(req), ttl: req.TTL, wait: w}
	h.entry = h.holder + " " + b.client + " " + gttl + " " + h.meta
	w.hold = h
	w.call = redislock.Call{Script: acquireScript, Keys: k.all, Args: []string{
		h.holder, millis(req.TTL), h.meta, marker, "", b.keys.kin, "wait", b.client, gttl, w.ticket,
	}}
	return w
}

// run asks until the lock is granted.
func (w *wait) run(ctx context.Context) (driver.Grant, error) {
	for {
		grant, rest, err := w.ask(ctx)
		switch {
		case err == nil:
			return grant, nil
		case ctx.Err() != nil:
			return driver.Grant{}, ended(ctx, w.last)
		case !errors.Is(err, fencehold.ErrHeld) && !w.bears(err):
			return driver.Grant{}, err
		}
		w.last = err
		if err := w.rest(ctx, rest); err != nil {
			return driver.Grant{}, err
		}
	}
}

// bears reports whether the wait survives an error: one that stands in line outlasts
// whatever may pass.
func (w *wait) bears(err error) bool { return w.stood && !errors.Is(err, driver.ErrRefused) }

// ask makes one attempt, and returns how long to rest if it fails.
func (w *wait) ask(ctx context.Context) (driver.Grant, time.Duration, error) {
	w.heard.Store(0)
	call := w.call
	call.Args = slices.Clone(call.Args)
	call.Args[4] = proposal()
	if known := w.b.members.known.Load(); known != nil {
		call.Args[3] = *known
	}
	rest := time.Duration(0)
	grant, err := w.b.attempt(ctx, w.hold, call, func(r *round) { rest = w.restAfter(r.replies) })
	if err != nil && ctx.Err() == nil {
		w.giveBack()
	}
	return grant, rest, err
}

// giveBack gives back what the last ask got without a majority, and stays in line.
func (w *wait) giveBack() {
	b, h := w.b, w.hold
	b.holds.mu.Lock()
	have := h.have
	h.have, h.lost = 0, true
	b.holds.mu.Unlock()
	w.heard.And(^have)
	for _, n := range b.nodes {
		if have&n.bit() != 0 {
			if d := w.backOf(); n.owes.add(d) {
				b.payNow(n, d)
			}
		}
	}
}

// backOf is what a node owes that is to take the lock back.
func (w *wait) backOf() *debt {
	h := w.hold
	return &debt{
		holder: h.holder, call: w.b.releaseCall(h.known, h.holder, h.entry, w.ticket), until: time.Now().Add(h.ttl),
	}
}

// late takes an answer that came after the decision: what was granted without a
// majority is given back.
func (w *wait) late(n *node, got reply) {
	if got.err != nil || got.code != codeGranted {
		return
	}
	b, h := w.b, w.hold
	var back *debt
	b.holds.mu.Lock()
	if h.stage == asking && h.lost {
		h.have &^= n.bit()
		// It is added before the next ask can look for it.
		if back = w.backOf(); !n.owes.add(back) {
			back = nil
		}
	}
	b.holds.mu.Unlock()
	if back != nil {
		b.payNow(n, back)
	}
}

// hear takes word of a node that has handed the lock over.
func (w *wait) hear(n *node) {
	w.heard.Or(n.bit())
	select {
	case w.news <- struct{}{}:
	default: // it was told, and has not looked yet
	}
}

// restAfter is how long to wait for word after an ask that failed.
func (w *wait) restAfter(replies []reply) time.Duration {
	most := mostShown(replies)
	if most.count > 0 {
		w.stood = true
	}
	pause := w.pause/2 + rand.N(w.pause)
	w.pause = min(2*w.pause, maxPause)
	_, ours := record.Parse(most.value)
	switch {
	case !w.b.hears(), most.count > 0 && !ours && most.rank == 0:
		return minStrange + rand.N(maxStrange-minStrange)
	case most.count < w.b.majority:
		return pause
	}
	free := w.freeIn(replies) + slack + time.Duration(min(most.rank, maxRank))*rankStep
	return min(max(pause, free), maxRest)
}

// freeIn is in how long a majority can be had at the soonest.
func (w *wait) freeIn(replies []reply) time.Duration {
	var left []int64
	for _, got := range replies {
		switch {
		case got.err == nil && got.code == codeGranted:
			left = append(left, 0)
		case got.err == nil && got.shows() && got.left >= 0:
			left = append(left, got.left)
		}
	}
	if len(left) < w.b.majority {
		return maxRest
	}
	slices.Sort(left)
	return min(maxRest, time.Duration(left[w.b.majority-1])*time.Millisecond)
}

// rest waits until it is time to ask again.
func (w *wait) rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	due := time.Now().Add(d)
	for {
		heard := count(w.heard.Load())
		if heard > 0 {
			w.pause = minPause
		}
		if heard >= w.b.majority {
			return nil
		}
		if soon := time.Now().Add(gather); heard > 0 && soon.Before(due) {
			due = soon
			timer.Reset(gather)
		}
		select {
		case <-w.news:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ended(ctx, w.last)
		case <-w.b.life.Done():
			return fencehold.ErrClosed
		}
	}
}
