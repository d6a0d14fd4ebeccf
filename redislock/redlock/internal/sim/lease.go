package sim

import "github.com/fencehold/fencehold/redislock/redlock/internal/quorum"

// A lease is a grant that a client works under.
type lease struct {
	holder   int64
	token    int64
	end      micros // by the client's clock
	renewing bool   // a renewal is on its way
	leaves   bool   // at its end nothing is released
}

// believes reports whether the client may work: it has a lease, and its clock
// is before the end. A paused client counts, too, for as long as its clock is
// before the end: that is what it would see if it woke up. Once its clock is
// past the end it does not believe any more, awake or not, unless the answer to
// a renewal that waited for it to wake up moves the end on.
func (c *client) believes() bool { return c.lease != nil && c.now() < c.lease.end }

// hold begins a lease. Most are released soon; some are held long, and renewed;
// some run out, and most of these without a release.
func (c *client) hold(a *attempt, token int64, end micros) {
	l := &lease{holder: a.holder, token: token, end: end}
	c.lease = l
	c.w.granted(c, a.floor, token)
	c.watch(l)
	if c.w.happens(c.w.RunsOut) {
		l.leaves = c.w.happens(0.8)
		return
	}
	work := c.w.TTL / 100
	if c.w.happens(c.w.Long) {
		work = c.w.TTL
	}
	c.planRenewal(l)
	c.plan(c.w.now+c.w.about(work), func() {
		if c.lease == l {
			c.finish(true)
		}
	})
}

// finish ends the lease.
func (c *client) finish(release bool) {
	if release {
		c.giveBack(c.lease.holder)
	}
	c.lease = nil
	c.retry()
}

// watch ends the lease at its end.
func (c *client) watch(l *lease) {
	c.after(l.end-c.now(), func() {
		switch {
		case c.lease != l:
		case c.now() < l.end:
			c.watch(l)
		default:
			c.finish(!l.leaves)
		}
	})
}

// planRenewal renews once a third of the TTL has passed.
func (c *client) planRenewal(l *lease) {
	third := c.w.TTL / 3
	c.after(max(l.end-c.now()-2*third+c.w.within(third/10), 0), func() { c.renew(l) })
}

// renew asks all nodes to extend the lease.
func (c *client) renew(l *lease) {
	if c.lease != l || !c.believes() {
		return
	}
	l.renewing = true
	r := &renewal{lease: l, sent: c.now(), votes: make([]quorum.Vote, len(c.w.nodes))}
	for k, n := range c.w.nodes {
		c.send(n, func() func() {
			vote, absent := n.renew(l.holder, l.token)
			return func() { c.renewed(r, k, vote, absent) }
		})
	}
	c.after(c.w.nodeTimeout(), func() {
		failRest(r.votes)
		c.decideRenewal(r)
	})
}

// A renewal is one round of requests to extend a lease.
type renewal struct {
	lease   *lease
	sent    micros // by the client's clock
	votes   []quorum.Vote
	absent  []*node // to be mended
	decided bool
	won     bool
}

// renewed takes the answer of node k.
func (c *client) renewed(r *renewal, k int, vote quorum.Vote, absent bool) {
	if c.lease != r.lease || r.votes[k].Kind != quorum.None {
		return
	}
	r.votes[k] = vote
	if absent {
		r.absent = append(r.absent, c.w.nodes[k])
	}
	c.decideRenewal(r)
	c.mend(r)
}

// decideRenewal goes on as soon as the round is decided.
func (c *client) decideRenewal(r *renewal) {
	if c.lease != r.lease || r.decided {
		return
	}
	outcome := quorum.Decide(r.votes)
	if outcome == quorum.Open {
		return
	}
	r.decided, r.lease.renewing = true, false
	switch outcome {
	case quorum.Won:
		r.won = true
		c.extend(r)
	case quorum.Lost:
		c.w.Losses++
		c.finish(true)
	case quorum.Unknown:
		pause := min(50*millisecond, max((r.lease.end-c.now())/4, 20*millisecond))
		c.after(pause, func() { c.renew(r.lease) })
	}
}

// extend moves the end on, never back.
func (c *client) extend(r *renewal) {
	c.w.Renewals++
	if c.w.FromReceipt {
		r.sent = c.now()
	}
	believed := c.believes()
	r.lease.end = max(r.lease.end, r.sent+c.w.validity(r.votes))
	if !believed && c.believes() {
		c.w.overlapping(c)
	}
	c.planRenewal(r.lease)
}

// mend puts the value back where it was absent, once a majority has extended.
func (c *client) mend(r *renewal) {
	if !r.won {
		return
	}
	for _, n := range r.absent {
		c.send(n, func() func() {
			n.mend(r.lease.holder, r.lease.token)
			return nil
		})
	}
	r.absent = nil
}
