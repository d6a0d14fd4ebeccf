package redlock

import (
	"context"
	"time"

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
	h, known := b.holds.begin(&hold{known: b.keys.of(name), holder: holder, stage: held, ttl: longest, until: time.Now().Add(longest)})
	v.hold = h
	v.round.limit = b.nodeTimeout(longest)
	v.round.decide = decideToken
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

// decideToken is [quorum.Decide] where the token has to be found out: the nodes of a
// majority may have different numbers, of which another answer can say which it is.
func decideToken(votes []quorum.Vote) quorum.Outcome {
	outcome := quorum.Decide(votes)
	if outcome != quorum.Won || quorum.Count(votes, quorum.None) == 0 {
		return outcome
	}
	if _, agreed := quorum.Agreed(votes); !agreed {
		return quorum.Open
	}
	return outcome
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
