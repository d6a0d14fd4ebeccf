package filelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// Renew implements [driver.Backend].
func (b *backend) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	if err := b.closed(); err != nil {
		return driver.Grant{}, err
	}
	if err := errors.Join(lockdir.CheckName(grant.Name), checkTTL(grant.Name, ttl)); err != nil {
		return driver.Grant{}, err
	}
	if h := b.find(grant.Name, grant.Holder); h != nil {
		return b.renewHold(h, ttl)
	}
	err := b.changeLease(ctx, grant.Name, grant.Holder, func(rec lockfile.Record) lockfile.Record {
		// Never to an earlier end: another renewal of this grant may have been
		// promised a later one.
		if until := b.boot.In(ttl); until.Nano > rec.Until.Nano {
			rec.Until = until
			rec.TTL = ttl.String()
		}
		grant = b.leaseGrant(rec)
		return rec
	})
	return grant, err
}

// renewHold has nothing to renew: it looks whether the hold still stands.
func (b *backend) renewHold(h *hold, ttl time.Duration) (driver.Grant, error) {
	grant := h.grant
	// The clock is read before the look: the hold stood at that time.
	grant.Sent, grant.TTL = driver.MonotonicNow(), ttl
	return grant, b.check(h)
}

// Resume implements [driver.Resumer]. Only a grant of lease mode can be taken
// up by another process.
func (b *backend) Resume(ctx context.Context, name, holder string) (driver.Grant, error) {
	if err := b.closed(); err != nil {
		return driver.Grant{}, err
	}
	if err := lockdir.CheckName(name); err != nil {
		return driver.Grant{}, err
	}
	if h := b.find(name, holder); h != nil {
		return h.grant, b.check(h)
	}
	rec, err := b.leaseRecord(name, holder)
	if err != nil {
		// A grant of process mode is not lost, but belongs to its process.
		if h, _ := b.Inspect(ctx, name); h.Held && h.Holder == holder && holder != "" {
			return driver.Grant{}, fmt.Errorf("resuming a grant that belongs to a process: %w", errors.ErrUnsupported)
		}
		return driver.Grant{}, err
	}
	return b.leaseGrant(rec), nil
}
