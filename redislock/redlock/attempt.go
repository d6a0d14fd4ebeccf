package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// proposal is the number that nodes are asked to give out: the clock, which is above
// all that were given out before unless clocks differ.
func proposal() string { return strconv.FormatInt(time.Now().UnixMicro(), 10) }

// millis writes a duration for a node, which refuses 0.
func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// TryAcquire implements [driver.Backend].
func (b *backend) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
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
	return b.try(ctx, req, marker)
}

// try makes one attempt, and undoes it if it fails.
func (b *backend) try(ctx context.Context, req driver.Request, marker string) (driver.Grant, error) {
	h, _ := b.holds.begin(&hold{
		known: b.keys.of(req.Name), holder: req.Holder, meta: b.describer.Describe(req), ttl: req.TTL,
	})
	mode := "try"
	if req.Barging {
		mode = "barge"
	}
	grant, err := b.attempt(ctx, h, redislock.Call{
		Script: acquireScript, Keys: h.known.all,
		Args: []string{h.holder, millis(req.TTL), h.meta, marker, proposal(), b.keys.kin, mode},
	}, nil)
	if err != nil {
		b.failed(ctx, h, err)
	}
	return grant, err
}

// askAgain is how soon a caller repeats an attempt of which the outcome is not known.
const askAgain = 100 * time.Millisecond

// failed undoes an attempt that has not been granted before. Where the outcome is not
// known that waits for a moment: the caller asks again at once, and is to find what the
// first request got.
func (b *backend) failed(ctx context.Context, h *hold, err error) {
	asks := b.holds.asksOf(h)
	if ctx.Err() != nil || outcomeKnown(err) {
		b.undoAll(b.holds.endUngranted(h, asks), h)
		return
	}
	b.work.Go(func() {
		select {
		case <-time.After(askAgain):
		case <-b.life.Done():
		}
		b.undoAll(b.holds.endUngranted(h, asks), h)
	})
}

// outcomeKnown reports whether asking again under the same holder id is of no use.
func outcomeKnown(err error) bool {
	for _, known := range []error{fencehold.ErrHeld, driver.ErrRefused, errLate, errUnsettled} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// attempt is P1 and, where the nodes gave out different numbers, P2. seen is shown
// what they answered.
func (b *backend) attempt(ctx context.Context, h *hold, call redislock.Call, seen func(*round)) (driver.Grant, error) {
	r := b.newRound(h.ttl, call)
	r.note = func(n *node, got reply) { b.noteGrant(h, n, got) }
	r.ended = func() { b.heardAll(h) }
	if h.wait != nil {
		r.late = h.wait.late
	}
	sent := driver.Now()
	skip := b.opened(h)
	r.start(skip)
	r.leaveOut(skip)
	outcome, err := r.wait(ctx)
	if seen != nil {
		seen(r)
	}
	switch {
	case err != nil:
		return driver.Grant{}, err
	case outcome == quorum.Won:
		return b.fix(ctx, h, r, sent)
	case outcome == quorum.Lost, b.split(r.votes):
		b.keys.contest(h.known)
		return driver.Grant{}, heldBy(r.replies)
	}
	return driver.Grant{}, b.undecided(r)
}

// split reports whether others keep an attempt from a majority that could be had: some
// of the nodes that answered, a majority, have the lock for somebody else.
func (b *backend) split(votes []quorum.Vote) bool {
	no := quorum.Count(votes, quorum.No)
	return no > 0 && no+quorum.Count(votes, quorum.Yes) >= b.majority
}

// opened opens a request of a hold at all nodes but those that it returns: they owe
// a release of it, or have not answered an earlier request; who waits asks those that
// have not answered in time again.
func (b *backend) opened(h *hold) (skip uint64) {
	all := uint64(1)<<len(b.nodes) - 1
	b.holds.mu.Lock()
	defer b.holds.mu.Unlock()
	skip = b.owedSkips(h.holder) | h.open
	if h.wait == nil {
		skip |= h.silent
	}
	if past := b.holds.past[h.holder]; past != nil {
		skip |= past.open
	}
	h.open |= all &^ skip
	h.heard, h.lost = false, false
	return skip
}

// maxAttempt is how old an attempt may be when it is decided. Two rounds take less;
// more is the time for which this process was stopped.
const maxAttempt = 2500 * time.Millisecond

// errLate is the end of an attempt that took longer.
var errLate = errors.New("decided too late")

// fix makes a grant of a majority's numbers.
func (b *backend) fix(ctx context.Context, h *hold, r *round, sent driver.Instant) (driver.Grant, error) {
	votes := r.votes
	token, agreed := quorum.Agreed(votes)
	if !agreed {
		token = quorum.Largest(votes)
		settled, err := b.settle(ctx, h, votes, token)
		if err != nil {
			return driver.Grant{}, err
		}
		votes = settled
	}
	// A node that has lost its memory votes again at the soonest attemptsEnd later:
	// until then every attempt that counted on it has ended here.
	if took := sent.Elapsed(); took > maxAttempt {
		return driver.Grant{}, fmt.Errorf("%w: it took %v, and may take %v", errLate, took.Round(time.Millisecond), maxAttempt)
	}
	b.holds.stand(h, h.ttl)
	b.tellRedundancy(h)
	b.listenForLosses()
	return driver.Grant{
		Name: h.known.name, Holder: h.holder, Token: fence.Token(token), Sent: sent, TTL: b.usable(quorum.Left(votes)),
	}, nil
}

// usable is the part of a time in ms that is left when more drift than usual was
// asked for: package fencehold takes one hundredth off.
func (b *backend) usable(left int64) time.Duration {
	d := time.Duration(left) * time.Millisecond
	return d - time.Duration(float64(d)*(b.opts.Drift-DefaultDrift))
}

// settle is P2: the nodes that gave out another number than t are asked to take t.
// It returns the votes for t.
func (b *backend) settle(ctx context.Context, h *hold, votes []quorum.Vote, t int64) ([]quorum.Vote, error) {
	r := b.newRound(h.ttl, redislock.Call{Script: settleScript, Keys: h.known.all[:2]})
	token := strconv.FormatInt(t, 10)
	r.args = func(n *node) []string {
		return []string{h.holder, strconv.FormatInt(votes[n.index].Number, 10), token}
	}
	r.note = func(n *node, got reply) {
		if got.err == nil && got.code == codeNotMine {
			b.holds.mu.Lock()
			h.have &^= n.bit()
			b.holds.mu.Unlock()
		}
	}
	var rest []*node
	for i, v := range votes {
		if v.Kind == quorum.Yes && v.Number != t {
			rest = append(rest, b.nodes[i])
			continue
		}
		if v.Kind == quorum.None {
			v.Kind = quorum.Failed // its answer comes too late to take part
		}
		r.votes[i] = v
	}
	r.open = len(rest)
	r.startAt(rest)
	outcome, err := r.wait(ctx)
	switch {
	case err != nil:
		return nil, err
	case outcome != quorum.Won:
		return nil, b.unsettled(r)
	}
	return r.votes, nil
}
