package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// Renew implements [driver.Backend].
func (b *backend) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	if err := b.closed(); err != nil {
		return driver.Grant{}, err
	}
	if err := errors.Join(checkName(grant.Name), checkTTL(grant.Name, ttl)); err != nil {
		return driver.Grant{}, err
	}
	if h := b.find(grant.Name, grant.Holder); h != nil {
		return b.renewHold(h, ttl)
	}
	err := b.change(ctx, grant.Name, grant.Holder, func(rec record) record {
		if until := b.after(ttl); until.Nano > rec.Until.Nano {
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
	grant.Sent, grant.TTL = driver.MonotonicNow(), ttl
	return grant, b.check(h)
}

// Resume implements [driver.Resumer]. Only a grant of lease mode can be taken
// up by another process.
func (b *backend) Resume(_ context.Context, name, holder string) (driver.Grant, error) {
	if err := b.closed(); err != nil {
		return driver.Grant{}, err
	}
	if err := checkName(name); err != nil {
		return driver.Grant{}, err
	}
	if h := b.find(name, holder); h != nil {
		return h.grant, b.check(h)
	}
	rec, err := b.leaseRecord(name, holder)
	if err != nil {
		return driver.Grant{}, err
	}
	return b.leaseGrant(rec), nil
}

// leaseGrant is the grant of a record of lease mode. The clocks are read in
// this order: the grant never seems to live longer than the record says.
func (b *backend) leaseGrant(rec record) driver.Grant {
	sent := driver.Now()
	return driver.Grant{Name: rec.Name, Holder: rec.Holder, Token: rec.Token, Sent: sent, TTL: b.remaining(rec)}
}

// leaseRecord returns the record of holder's standing grant of lease mode.
func (b *backend) leaseRecord(name, holder string) (record, error) {
	f, err := b.dir.openFile(b.dir.lockPath(name), false)
	if err != nil {
		return record{}, deleted(err)
	}
	defer f.close()
	rec, err := f.read()
	if err != nil {
		return record{}, err
	}
	return rec, b.checkRecord(f, rec, holder)
}

// checkRecord returns the LostError of a holder that the record does not name.
func (b *backend) checkRecord(f *lockFile, rec record, holder string) error {
	if holder == "" || rec.Holder != holder || b.remaining(rec) == 0 {
		return b.lost(f, rec, holder)
	}
	return nil
}

// deleted is the loss of one whose lock file is not there.
func deleted(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &fencehold.LostError{Reason: fencehold.ReasonDeleted, Why: "there is no lock file"}
	}
	return err
}

// change replaces the record of holder's standing grant of lease mode. It
// needs no lock, so that nobody's attempt fails for it, and one who has the
// lock for other ends, such as flock(1), does not stop a renewal.
func (b *backend) change(ctx context.Context, name, holder string, next func(record) record) error {
	f, err := b.guardAt(ctx, name)
	if err != nil {
		return deleted(err)
	}
	defer f.close()
	defer f.unguard()
	rec, err := f.read()
	if err != nil {
		return err
	}
	if err := b.checkRecord(f, rec, holder); err != nil {
		return err
	}
	return f.write(next(rec))
}

// guardAt opens the lock file that is at the path of name now, with its guard.
func (b *backend) guardAt(ctx context.Context, name string) (*lockFile, error) {
	for {
		f, err := b.dir.openFile(b.dir.lockPath(name), true)
		if err != nil {
			return nil, err
		}
		err = f.guard(ctx)
		if err == nil {
			there, atErr := f.atPath()
			if there && atErr == nil {
				return f, nil
			}
			f.unguard()
			err = atErr
		}
		f.close()
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

// Release implements [driver.Backend].
func (b *backend) Release(ctx context.Context, grant driver.Grant, keep time.Duration) error {
	if err := b.closed(); err != nil {
		return err
	}
	if err := checkName(grant.Name); err != nil {
		return err
	}
	defer b.line(grant.Name).wake()
	if h := b.find(grant.Name, grant.Holder); h != nil {
		return b.releaseHold(ctx, h, keep)
	}
	return b.change(ctx, grant.Name, grant.Holder, func(rec record) record {
		if keep > 0 {
			return b.kept(rec.Name, keep)
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

// remove takes a file away that somebody else may have taken away before.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
