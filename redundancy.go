package fencehold

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/fencehold/fencehold/driver"
)

// redundancy is what a lease has told of its redundancy, under its mutex.
type redundancy struct {
	asked bool // before, news is kept by the backend alone
	bare  bool // none was left by the last news
}

// Redundancy is how many servers have the lock beyond the majority that it takes:
// so many of them may fail, or forget, without harm. It is false where the lock
// service has no such thing, where it is not known yet, and once the lease is over.
// It can fall below 0: then the lease ends with its time unless renewals reach a
// majority again.
func (l *Lease) Redundancy() (spare int, ok bool) {
	redundant, able := l.client.backend.(driver.Redundant)
	if !able || l.Err() != nil {
		return 0, false
	}
	return redundant.Redundancy(l.snapshot())
}

// askRedundancy takes in what became known while the lease was being made.
func (l *Lease) askRedundancy() {
	redundant, able := l.client.backend.(driver.Redundant)
	if !able {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare.asked = true
	if spare, known := redundant.Redundancy(l.grant); known {
		l.noteRedundancy(spare)
	}
}

// redundancyChanged is what a backend calls for a lease.
func (c *Client) redundancyChanged(name, holder string, spare int) {
	l := c.schedule.ofHolder(name, holder)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Earlier the hook would be called before that of the grant.
	if l.spare.asked {
		l.noteRedundancy(spare)
	}
}

// noteRedundancy warns when none is left, once. The caller holds l.mu.
func (l *Lease) noteRedundancy(spare int) {
	was := l.spare.bare
	l.spare.bare = spare <= 0
	if l.err == nil && l.spare.bare && !was {
		l.tell(l.client.herald.hooks.RedundancyLost, slog.LevelWarn, "lock has no server to spare", l.placement(spare))
	}
}

// placement says on how many servers a lease is that has none to spare, and on which
// it is not; nil if the service does not tell. The caller holds l.mu.
func (l *Lease) placement(spare int) error {
	placed, able := l.client.backend.(driver.Placed)
	if !able {
		return nil
	}
	without, of := placed.Without(l.grant)
	if of == 0 {
		return nil
	}
	consequence := "none to spare"
	if spare < 0 {
		consequence = "fewer than it takes"
	}
	return fmt.Errorf("on %d of %d servers (not on %s), %s",
		of-len(without), of, strings.Join(without, ", "), consequence)
}
