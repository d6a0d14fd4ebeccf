package filelock

import (
	"context"

	"github.com/fencehold/fencehold/driver"
)

// Revoke implements [driver.Revoker].
//
// A grant of process mode cannot be undone in the victim's process, so its
// file is taken away: the next holder makes another one, and the victim finds
// that its own is gone, with a note in it. The guard is held from the look at
// the record to the removal. A new holder, which needs the guard to write its
// record, finds afterwards that the file it has locked is not at its path, and
// begins again; so only the grant that was named is taken.
func (b *backend) Revoke(ctx context.Context, r driver.Revocation) error {
	if err := b.closed(); err != nil {
		return err
	}
	if err := checkName(r.Name); err != nil {
		return err
	}
	if r.Holder == "" {
		return invalid("revocation of lock %q: no holder is named", r.Name)
	}
	f, err := b.guardAt(ctx, r.Name)
	if err != nil {
		return deleted(err)
	}
	err = b.revokeOn(f, r)
	f.unguard()
	f.close()
	if err == nil {
		b.line(r.Name).wake()
	}
	return err
}

// revokeOn revokes on a file of which the caller has the guard.
func (b *backend) revokeOn(f *lockFile, r driver.Revocation) error {
	rec, held, err := b.observe(f)
	if err != nil {
		return err
	}
	if !held || rec.Holder != r.Holder {
		return b.lost(f, rec, r.Holder)
	}
	pinned := rec.Mode == processMode
	if pinned {
		if err := f.removable(); err != nil {
			return err
		}
	}
	rec.Revoked = &note{Holder: r.Holder, By: r.By, Why: r.Why}
	rec.Holder, rec.Until = "", nil
	if err := f.write(rec); err != nil {
		return err
	}
	if pinned {
		return f.remove()
	}
	return nil
}
