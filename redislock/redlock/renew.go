package redlock

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// Renew implements [driver.Backend].
func (b *backend) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	if err := b.checkTTL(ttl); err != nil {
		return driver.Grant{}, err
	}
	if err := b.enter(ctx); err != nil {
		return driver.Grant{}, err
	}
	defer b.work.Done()
	v := b.newRenewal(grant, ttl)
	v.round.start(0)
	return v.wait(ctx)
}

// A renewal is one grant that is being renewed.
type renewal struct {
	b     *backend
	grant driver.Grant
	ttl   time.Duration
	sent  driver.Instant
	hold  *hold // nil if this client knows nothing of it
	round *round

	mu   sync.Mutex
	have uint64  // the nodes that have extended it
	gone []*node // those that have nothing of that name
}

func (b *backend) newRenewal(grant driver.Grant, ttl time.Duration) *renewal {
	v := &renewal{b: b, grant: grant, ttl: ttl, hold: b.holds.find(grant.Holder)}
	v.round = b.newRound(ttl, redislock.Call{
		Script: renewScript, Keys: b.keys.of(grant.Name).all[:2],
		Args: []string{grant.Holder, millis(ttl), strconv.FormatInt(int64(grant.Token), 10), b.keys.kin},
	})
	v.round.note, v.round.ended = v.note, v.ended
	v.sent = driver.Now()
	return v
}

// note takes note of the answer of one node.
func (v *renewal) note(n *node, got reply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case got.err != nil:
	case got.code == codeGranted:
		v.have |= n.bit()
	case got.value == "" && got.word == "-":
		v.gone = append(v.gone, n)
	}
}

// wait returns the grant that a majority extended.
func (v *renewal) wait(ctx context.Context) (driver.Grant, error) {
	outcome, err := v.round.wait(ctx)
	switch {
	case err != nil:
		return driver.Grant{}, err
	case outcome == quorum.Lost:
		return driver.Grant{}, v.lost()
	case outcome != quorum.Won:
		return driver.Grant{}, v.b.undecided(v.round)
	}
	renewed := v.grant
	if renewed.Token == 0 {
		token, agreed := quorum.Agreed(v.round.votes)
		if !agreed {
			return driver.Grant{}, v.b.unsettled(v.round)
		}
		renewed.Token = fence.Token(token)
	}
	if v.hold != nil {
		v.b.holds.stand(v.hold, v.ttl)
	}
	renewed.Sent, renewed.TTL = v.sent, v.b.usable(quorum.Left(v.round.votes))
	return renewed, nil
}

// lost has what is left of the grant released on every node.
func (v *renewal) lost() error {
	if v.hold != nil {
		v.b.abandon(v.hold)
	}
	return lostTo(v.round.replies, v.grant)
}

// ended mends what can be mended, once all nodes have answered, and tells how many
// there are.
func (v *renewal) ended() {
	h := v.hold
	if h == nil {
		return
	}
	v.mu.Lock()
	have, gone := v.have, v.gone
	v.mu.Unlock()
	if quorum.Count(v.round.votes, quorum.Yes) >= v.b.majority {
		for _, n := range gone {
			if v.b.mend(n, h, v.grant.Token, v.ttl) {
				have |= n.bit()
			}
		}
	}
	v.b.holds.mu.Lock()
	h.have, h.due = have, 0
	h.touched |= have
	v.b.holds.mu.Unlock()
	v.b.heardAll(h)
}

// mend puts a grant back at a node that has nothing of that name.
func (b *backend) mend(n *node, h *hold, token fence.Token, ttl time.Duration) bool {
	known := b.members.known.Load()
	if known == nil || !b.stands(h) || token == 0 {
		return false
	}
	number := strconv.FormatInt(int64(token), 10)
	value := record.Head + h.holder + ":" + number + ":1:" + h.meta
	a, err := n.eval(b.pays.context(payLimit), redislock.Call{
		Script: mendScript, Keys: h.known.all[:3], Args: []string{value, millis(ttl), number, *known},
	})
	if a.code == codeAbstains {
		b.members.tend(n.seat)
	}
	// A release may have been sent meanwhile, and have found nothing there.
	if (err != nil || a.code == codeGranted) && !b.stands(h) {
		b.undoAt(n, h)
		return false
	}
	return err == nil && a.code == codeGranted
}

// stands reports whether a hold is a grant that was not released.
func (b *backend) stands(h *hold) bool {
	b.holds.mu.Lock()
	defer b.holds.mu.Unlock()
	return h.stage == held
}

// RenewBatch implements [driver.BatchRenewer], with one request to each node.
func (b *backend) RenewBatch(ctx context.Context, renewals []*driver.Renewal) {
	if err := b.enter(ctx); err != nil {
		for _, r := range renewals {
			r.Err = err
		}
		return
	}
	defer b.work.Done()
	var batch []*renewal
	var longest time.Duration
	for _, r := range renewals {
		v := b.newRenewal(r.Grant, r.TTL)
		batch, longest = append(batch, v), max(longest, v.round.limit)
	}
	limit := b.limits.context(longest)
	for _, n := range b.nodes {
		b.work.Go(func() { renewAt(limit, n, batch) })
	}
	for i, r := range renewals {
		r.Renewed, r.Err = batch[i].wait(ctx)
	}
}

// renewAt sends the renewals of a batch to one node.
func renewAt(ctx context.Context, n *node, batch []*renewal) {
	conn, err := n.conn()
	if err != nil {
		for _, v := range batch {
			v.round.take(n, reply{err: err})
		}
		return
	}
	calls := make([]redislock.Call, len(batch))
	for i, v := range batch {
		calls[i] = v.round.call
	}
	conn.EvalMany(ctx, calls)
	for i, v := range batch {
		a, err := answer{}, refusal.Explain(ofLimit(calls[i].Err))
		if err == nil {
			a, err = parseAnswer(calls[i].Answer)
		}
		v.round.take(n, reply{a, err})
	}
}
