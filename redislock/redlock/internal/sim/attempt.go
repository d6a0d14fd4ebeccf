package sim

import "github.com/fencehold/fencehold/redislock/redlock/internal/quorum"

// An attempt is one try at the lock: P1 at all nodes, and P2 where the numbers
// differ.
type attempt struct {
	holder int64
	floor  int64         // the largest token that was granted before it began
	sent   micros        // by the client's clock
	votes  []quorum.Vote // on P1
	round  []quorum.Vote // on what is decided now: P1, or P2
	target int64         // t of P2; 0 before
}

// try begins an attempt, unless there have been enough.
func (c *client) try() {
	w := c.w
	if w.Attempts >= w.limit {
		return
	}
	w.Attempts++
	w.holders++
	a := &attempt{
		holder: w.holders, floor: w.highest, sent: c.now(),
		votes: make([]quorum.Vote, len(w.nodes)),
	}
	a.round = a.votes
	c.attempt = a
	proposal := c.proposal()
	for k, n := range w.nodes {
		c.send(n, func() func() {
			vote := n.acquire(a.holder, proposal)
			return func() { c.voted(a, k, vote) }
		})
	}
	c.after(w.nodeTimeout(), func() { c.timeout(a, a.votes) })
	if w.happens(w.Paused) {
		w.plan(w.now+micros(w.rng.Int64N(int64(3*w.Delay))), c.pause)
	}
}

// voted takes the answer of node k to P1. Once P2 was sent it is too late.
func (c *client) voted(a *attempt, k int, vote quorum.Vote) {
	if vote.Kind == quorum.Abstains {
		c.notice(c.w.nodes[k])
	}
	if c.attempt != a || a.target != 0 || a.votes[k].Kind != quorum.None {
		return
	}
	a.votes[k] = vote
	c.decide(a)
}

// timeout counts the nodes that have not answered as failed, if the attempt
// still waits for these votes.
func (c *client) timeout(a *attempt, votes []quorum.Vote) {
	if c.attempt != a || &a.round[0] != &votes[0] {
		return
	}
	failRest(votes)
	c.decide(a)
}

// failRest counts the nodes that have not answered as failed.
func failRest(votes []quorum.Vote) {
	for k := range votes {
		if votes[k].Kind == quorum.None {
			votes[k].Kind = quorum.Failed
		}
	}
}

// decide goes on as soon as the round is decided.
func (c *client) decide(a *attempt) {
	switch quorum.Decide(a.round) {
	case quorum.Open:
	case quorum.Won:
		c.number(a)
	case quorum.Lost, quorum.Unknown:
		c.fail(a)
	}
}

// number ends the attempt with the number that a majority gave out, or goes on
// to P2.
func (c *client) number(a *attempt) {
	token, agreed := quorum.Agreed(a.round)
	switch {
	case agreed:
		c.won(a, token)
	case c.w.OnePhase:
		c.won(a, quorum.Largest(a.round))
	default:
		c.settle(a)
	}
}

// settle is P2, at the nodes that answered less than the largest number.
func (c *client) settle(a *attempt) {
	c.w.Settled++
	a.target = quorum.Largest(a.votes)
	a.round = make([]quorum.Vote, len(a.votes))
	for k, vote := range a.votes {
		switch {
		case vote.Kind != quorum.Yes:
			a.round[k].Kind = quorum.Failed
		case vote.Number == a.target:
			a.round[k] = vote
		default:
			c.sendSettle(a, k)
		}
	}
	round := a.round
	c.after(c.w.nodeTimeout(), func() { c.timeout(a, round) })
}

// sendSettle sends P2 to node k. What was left when P1 was answered counts,
// since that is what the clock was read for.
func (c *client) sendSettle(a *attempt, k int) {
	n, r, left := c.w.nodes[k], a.votes[k].Number, a.votes[k].Left
	c.send(n, func() func() {
		vote := n.settle(a.holder, r, a.target)
		vote.Left = left
		return func() {
			if c.attempt == a && a.round[k].Kind == quorum.None {
				a.round[k] = vote
				c.decide(a)
			}
		}
	})
}

// fail undoes an attempt.
func (c *client) fail(a *attempt) {
	c.attempt = nil
	c.giveBack(a.holder)
	c.retry()
}

// won makes a lease of an attempt, unless it came too late.
func (c *client) won(a *attempt, token int64) {
	if c.w.FromReceipt {
		a.sent = c.now()
	}
	end := a.sent + c.w.validity(a.round)
	if c.now() >= end {
		c.fail(a)
		return
	}
	c.attempt = nil
	c.hold(a, token, end)
}
