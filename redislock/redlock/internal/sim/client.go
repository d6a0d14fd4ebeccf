package sim

import "github.com/fencehold/fencehold/redislock/redlock/internal/quorum"

// A client tries to get the lock, holds it for a while, and begins anew.
type client struct {
	w       *World
	clock   clock  // does not step
	wall    micros // what its wall clock is ahead of that
	grain   micros // of the wall clock
	asleep  micros // paused until then
	lines   []line
	noticed []micros // when it last took care of a node that does not vote
	attempt *attempt // the one that is open
	lease   *lease   // the one that has not ended
}

// now is what the client's clock shows.
func (c *client) now() micros { return c.clock.at(c.w.now) }

// proposal is p: the wall clock.
func (c *client) proposal() int64 {
	wall := c.now() + c.wall
	return int64(wall - wall%c.grain)
}

// plan lets the client do something at a time, or when it wakes up.
func (c *client) plan(at micros, do func()) {
	c.w.plan(at, func() {
		if c.w.now < c.asleep {
			c.plan(c.asleep, do)
			return
		}
		do()
	})
}

// after lets the client do something once its clock has counted so much.
func (c *client) after(counted micros, do func()) { c.plan(c.w.now+c.clock.real(counted), do) }

// pauses stops the client again and again.
func (c *client) pauses() {
	c.w.plan(c.w.now+c.w.about(c.w.PauseEvery), func() {
		c.pause()
		c.pauses()
	})
}

// pause stops the client for five TTLs at the longest.
func (c *client) pause() {
	c.asleep = max(c.asleep, c.w.now+min(c.w.logNormal(c.w.TTL/20, 1.8), 5*c.w.TTL))
}

// retry begins another attempt after a while.
func (c *client) retry() { c.plan(c.w.now+c.w.logNormal(c.w.Backoff, 1.5), c.try) }

// giveBack releases a holder on all nodes, and again where that is not known to
// have been done, until the TTL has passed.
func (c *client) giveBack(holder int64) {
	owed := make([]bool, len(c.w.nodes))
	for k := range owed {
		owed[k] = true
	}
	c.releaseOwed(holder, owed, c.w.nodeTimeout(), c.now()+c.w.TTL)
}

func (c *client) releaseOwed(holder int64, owed []bool, pause, until micros) {
	any := false
	for k, n := range c.w.nodes {
		if !owed[k] {
			continue
		}
		any = true
		c.send(n, func() func() {
			n.release(holder)
			return func() { owed[k] = false }
		})
	}
	if any && c.now() < until {
		c.after(pause, func() { c.releaseOwed(holder, owed, 2*pause, until) })
	}
}

// validity is how much of what is left of a grant can be trusted, in the
// arithmetic of package fencehold.
func (w *World) validity(votes []quorum.Vote) micros {
	left := micros(quorum.Left(votes)) * millisecond
	if w.NoDrift {
		return left
	}
	return left - left/100 - 2*millisecond - max(10*millisecond, left/50)
}
