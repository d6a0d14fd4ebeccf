package testcluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MoveSlot moves a slot with its keys to another primary, and returns when all
// nodes that answer know.
func (c *Cluster) MoveSlot(slot int, to *Redis) {
	c.tb.Helper()
	c.BeginMove(slot, to)
	c.FinishMove(slot, to)
}

// BeginMove announces to both sides that a slot moves, and moves nothing: the
// old primary answers ASK for keys that it does not have, and TRYAGAIN if it
// has some of several. [Cluster.MoveKeys] and [Cluster.FinishMove] go on.
func (c *Cluster) BeginMove(slot int, to *Redis) {
	c.tb.Helper()
	from := c.Owner(slot)
	if from == to {
		c.tb.Fatalf("cluster: slot %d is at %s already", slot, to.Addr())
	}
	// The new one first, or it would refuse whom the old one sends.
	c.setSlot(to, slot, "IMPORTING", from.id())
	c.setSlot(from, slot, "MIGRATING", to.id())
}

// MoveKeys moves keys of a slot that is on the move, all if none is named.
func (c *Cluster) MoveKeys(slot int, to *Redis, keys ...string) {
	c.tb.Helper()
	from := c.Owner(slot)
	if len(keys) > 0 {
		from.migrate(to, keys)
		return
	}
	for {
		text := from.Do("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(slot), "100")
		if text == "" {
			return
		}
		from.migrate(to, strings.Split(text, "\n"))
	}
}

// FinishMove moves the keys that are left, gives the slot to the new primary,
// and returns when all nodes that answer know.
func (c *Cluster) FinishMove(slot int, to *Redis) {
	c.tb.Helper()
	c.MoveKeys(slot, to)
	from, id := c.Owner(slot), to.id()
	// The new one first: between the two steps both serve, and no slot is lost
	// if the second does not happen.
	c.setSlot(to, slot, "NODE", id)
	c.setSlot(from, slot, "NODE", id)
	c.WaitOwner(slot, to)
}

// setSlot tells a node something about a slot.
func (c *Cluster) setSlot(r *Redis, slot int, state, id string) {
	c.tb.Helper()
	r.Do("CLUSTER", "SETSLOT", strconv.Itoa(slot), state, id)
}

// id returns the id of a node.
func (r *Redis) id() string {
	r.tb.Helper()
	return r.Do("CLUSTER", "MYID")
}

// migrate hands keys over to another node.
func (r *Redis) migrate(to *Redis, keys []string) {
	r.tb.Helper()
	args := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.Port()), "", "0", "5000"}
	if to.set.password != "" {
		args = append(args, "AUTH", to.set.password)
	}
	args = append(args, "KEYS")
	r.Do(slices.Concat(args, keys)...)
}

// WaitOwner waits until all nodes that answer say that a slot is at r and that
// the Cluster serves all slots.
func (c *Cluster) WaitOwner(slot int, r *Redis) {
	c.tb.Helper()
	c.must("agree on slot "+strconv.Itoa(slot), await(settleLimit, settleEvery, func() error {
		return c.agree(slot, r)
	}))
}

// agree returns nil if all nodes that answer say that a slot is at owner.
func (c *Cluster) agree(slot int, owner *Redis) error {
	for _, r := range live(c.nodes) {
		members, err := r.view()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(members, func(m member) bool { return m.owns(slot) })
		if i < 0 || members[i].addr != owner.announced() {
			return fmt.Errorf("%s does not see slot %d at %s", r.Addr(), slot, owner.Addr())
		}
		if err := r.healthy(); err != nil {
			return err
		}
	}
	return owner.isPrimary()
}
