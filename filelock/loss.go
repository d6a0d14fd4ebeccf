package filelock

import (
	"errors"
	"io/fs"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// checkRecord returns the LostError of a holder that the record does not name.
func (b *backend) checkRecord(f *lockfile.File, rec lockfile.Record, holder string) error {
	if holder == "" || rec.Holder != holder || b.remaining(rec) == 0 {
		return b.lost(f, rec, holder)
	}
	return nil
}

// lost says how holder lost the lock whose record is rec now.
func (b *backend) lost(f *lockfile.File, rec lockfile.Record, holder string) error {
	if n := rec.Revoked; n != nil && n.Holder == holder {
		return &fencehold.LostError{Reason: fencehold.ReasonRevoked, By: n.By, Why: n.Why}
	}
	if rec.Holder != holder {
		// A record that does not stand any more is no successor's.
		if marked, err := f.Marked(); err != nil {
			return err
		} else if marked || b.remaining(rec) > 0 {
			return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, By: rec.Owner}
		}
	}
	return &fencehold.LostError{Reason: fencehold.ReasonExpired}
}

// deleted is the loss of one whose lock file is not there.
func deleted(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &fencehold.LostError{Reason: fencehold.ReasonDeleted, Why: "there is no lock file"}
	}
	return err
}
