package redlock

import (
	"context"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// Resume implements [driver.Resumer]: the shortest renewal there is, which shortens
// nothing, shows whether the grant stands.
func (b *backend) Resume(ctx context.Context, name, holder string) (driver.Grant, error) {
	if err := b.enter(ctx); err != nil {
		return driver.Grant{}, err
	}
	defer b.work.Done()
	if _, err := b.ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	v := b.newRenewal(driver.Grant{Name: name, Holder: holder, Sent: driver.Now()}, 1)
	longest, _ := b.maxTTL()
	h, known := b.holds.begin(&hold{known: b.keys.of(name), holder: holder, stage: held, ttl: longest})
	v.hold = h
	v.round.limit = b.nodeTimeout(longest)
	v.round.start(0)
	grant, err := v.wait(ctx)
	if err != nil {
		// Nothing of it is released: another process may have it, and work.
		if !known {
			b.holds.end(h, nil)
		}
		return driver.Grant{}, err
	}
	b.describe(h, v.round)
	b.listenForLosses()
	return grant, nil
}

// describe takes the description of a grant's owner from what the nodes have.
func (b *backend) describe(h *hold, r *round) {
	b.holds.mu.Lock()
	defer b.holds.mu.Unlock()
	for i, v := range r.votes {
		if v.Kind == quorum.Yes && h.meta == "" {
			h.meta = r.replies[i].value
		}
	}
}
