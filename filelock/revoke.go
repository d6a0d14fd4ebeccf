package filelock

import (
	"context"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// Revoke implements [driver.Revoker].
//
// A grant of process mode cannot be undone in the victim's process, so its
// file is taken away: the next holder makes another one, and the victim finds
// that its own is gone, with a note in it.
func (b *backend) Revoke(ctx context.Context, r driver.Revocation) error {
	if err := b.closed(); err != nil {
		return err
	}
	if err := lockdir.CheckName(r.Name); err != nil {
		return err
	}
	if r.Holder == "" {
		return invalid("revocation of lock %q: no holder is named", r.Name)
	}
	f, err := b.guardAt(ctx, r.Name)
	if err != nil {
		return deleted(err)
	}
	// The guard is held from the look at the record to the removal. A new
	// holder, which needs the guard to write its record, finds afterwards that
	// the file it has locked is not at its path, and begins again; so only the
	// grant that was named is taken.
	err = b.revokeOn(f, r)
	f.Unguard()
	f.Close()
	if err == nil {
		b.line(r.Name).Wake()
	}
	return err
}

// revokeOn revokes on a file of which the caller has the guard.
func (b *backend) revokeOn(f *lockfile.File, r driver.Revocation) error {
	rec, held, err := f.Observe(b.boot)
	if err != nil {
		return err
	}
	if !held || rec.Holder != r.Holder {
		return b.lost(f, rec, r.Holder)
	}
	pinned := rec.Mode == lockfile.ProcessMode
	if pinned {
		// Before anything is written: a refusal must change nothing.
		if err := f.Removable(); err != nil {
			return err
		}
	}
	rec.Revoked = &lockfile.Note{Holder: r.Holder, By: r.By, Why: r.Why}
	if !pinned {
		rec.Holder, rec.Until = "", nil
	}
	// In process mode the holder stays in the record: where the removal fails,
	// or never comes, the lock is still theirs, and can be revoked again.
	//
	// The note before the removal: a victim that finds its file gone looks for
	// it at once.
	if err := f.Write(rec); err != nil {
		return err
	}
	if pinned {
		return f.Remove()
	}
	return nil
}
