package filelock

import (
	"context"
	"errors"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// Release implements [driver.Backend].
func (b *backend) Release(ctx context.Context, grant driver.Grant, keep time.Duration) error {
	if err := b.closed(); err != nil {
		return err
	}
	if err := lockdir.CheckName(grant.Name); err != nil {
		return err
	}
	// After a failure too: the first in line finds out what it means to them.
	defer b.line(grant.Name).Wake()
	if h := b.find(grant.Name, grant.Holder); h != nil {
		return b.releaseHold(ctx, h, keep)
	}
	return b.changeLease(ctx, grant.Name, grant.Holder, func(rec lockfile.Record) lockfile.Record {
		if keep > 0 {
			kept := b.kept(rec.Name, keep)
			kept.Revoked = rec.Revoked
			return kept
		}
		rec.Holder, rec.Until = "", nil
		return rec
	})
}

// releaseHold ends a hold. One that was lost before is dropped all the same, and
// one whose release failed stands, to be released again.
func (b *backend) releaseHold(ctx context.Context, h *hold, keep time.Duration) error {
	var err error
	if keep > 0 {
		// Before the lock is free: nobody may have it in between.
		err = h.keep(ctx, b, keep)
	} else {
		err = b.check(h)
	}
	if err != nil && !errors.Is(err, fencehold.ErrLost) {
		return err
	}
	b.forget(h)
	h.drop()
	return err
}
