package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// Release implements [driver.Backend]. A node that does not answer is owed the
// release until the TTL is over.
func (b *backend) Release(ctx context.Context, grant driver.Grant, keep time.Duration) error {
	if keep > 0 {
		return fmt.Errorf("keeping a lock taken: %w", errors.ErrUnsupported)
	}
	if err := b.begin(); err != nil {
		return err
	}
	defer b.work.Done()
	h, entry := b.holds.find(grant.Holder), ""
	if h != nil {
		entry = h.entry
	}
	r := b.newRound(grant.TTL, b.releaseCall(b.keys.of(grant.Name), grant.Holder, entry, ""))
	r.note = func(n *node, got reply) {
		if got.err != nil {
			b.unanswered(n, &debt{holder: grant.Holder, call: r.call, until: time.Now().Add(grant.TTL)})
		}
	}
	later := uint64(0)
	if h != nil {
		r.ended = func() { b.holds.ended(h) }
		_, later = b.holds.end(h, r)
	}
	r.start(later)
	outcome, err := r.wait(ctx)
	switch {
	case err != nil:
		return err
	case outcome == quorum.Lost:
		return lostTo(r.replies, grant)
	case outcome != quorum.Won:
		return b.undecided(r)
	}
	return nil
}
