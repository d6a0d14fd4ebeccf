package sim

import "github.com/fencehold/fencehold/redislock/redlock/internal/quorum"

// notice takes care of a node that does not vote: writes the join time there,
// or lets it join if that is long enough ago. A client does so four times a
// TTL at most.
func (c *client) notice(n *node) {
	if c.w.now < c.noticed[n.index] {
		return
	}
	c.noticed[n.index] = c.w.now + c.w.TTL/4
	c.send(n, func() func() {
		if n.marked {
			return nil
		}
		joining, due := n.notice()
		return func() {
			if due {
				c.join(n, joining)
			}
		}
	})
}

// join asks the other nodes for h and sets the marker with the largest, once a
// majority of them has answered.
func (c *client) join(n *node, joining micros) {
	answered := make([]bool, len(c.w.nodes))
	var count int
	var largest int64
	for k, other := range c.w.nodes {
		if other == n {
			continue
		}
		c.send(other, func() func() {
			if !other.marked {
				return nil
			}
			h := other.h
			return func() {
				if answered[k] || count == quorum.Majority(len(answered)) {
					return
				}
				answered[k] = true
				count++
				largest = max(largest, h)
				if count == quorum.Majority(len(answered)) {
					c.enrol(n, joining, largest)
				}
			}
		})
	}
}

// enrol sets the marker of a node.
func (c *client) enrol(n *node, joining micros, h int64) {
	c.send(n, func() func() {
		n.enrol(joining, h)
		return nil
	})
}
