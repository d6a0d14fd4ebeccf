package testcluster

import (
	"fmt"
	"strconv"
)

// Failover makes a replica of the node that serves a slot its primary, and
// returns when all nodes that answer know and the old one is a replica of it.
func (c *Cluster) Failover(slot int) {
	c.tb.Helper()
	old := c.Owner(slot)
	r, err := c.replica(old)
	c.must("failover", err)
	c.must("failover", await(settleLimit, settleEvery, r.promote))
	c.WaitOwner(slot, r)
	c.must("failover", await(settleLimit, settleEvery, func() error { return old.follows(r) }))
}

// promote makes a replica a primary. The server gives up after five seconds if
// the two could not speak to each other at once.
func (r *Redis) promote() error {
	if _, err := r.ask(probeLimit, "CLUSTER", "FAILOVER"); err != nil {
		return err
	}
	return await(promoteLimit, settleEvery, r.isPrimary)
}

// replica returns a replica of a node.
func (c *Cluster) replica(of *Redis) (*Redis, error) {
	for _, r := range c.nodes {
		if r.follows(of) == nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%s has no replica", of.Addr())
}

// WaitFailover waits until a slot is served by another node than old, and all
// nodes that answer know, and returns it. It is for tests that killed or paused
// old.
func (c *Cluster) WaitFailover(slot int, old *Redis) *Redis {
	c.tb.Helper()
	var owner *Redis
	err := await(settleLimit, settleEvery, func() (err error) {
		owner, err = c.owner(slot)
		if err == nil && owner == old {
			err = fmt.Errorf("it is still at %s", old.Addr())
		}
		return err
	})
	c.must("failover of slot "+strconv.Itoa(slot), err)
	c.WaitOwner(slot, owner)
	return owner
}
