package filelock

import (
	"context"
	"errors"

	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// leaseRecord returns the record of holder's standing grant of lease mode.
func (b *backend) leaseRecord(name, holder string) (lockfile.Record, error) {
	f, err := lockfile.Open(b.dir, b.dir.LockPath(name), false)
	if err != nil {
		return lockfile.Record{}, deleted(err)
	}
	defer f.Close()
	rec, err := f.Read()
	if err != nil {
		return lockfile.Record{}, err
	}
	return rec, b.checkRecord(f, rec, holder)
}

// changeLease replaces the record of holder's standing grant of lease mode.
func (b *backend) changeLease(
	ctx context.Context, name, holder string, next func(lockfile.Record) lockfile.Record,
) error {
	// The guard is enough, without the lock: so nobody's attempt fails for
	// this, and one who has the lock for other ends, such as flock(1), does not
	// stop a renewal.
	f, err := b.guardAt(ctx, name)
	if err != nil {
		return deleted(err)
	}
	defer f.Close()
	defer f.Unguard()
	// Read under the guard: one who takes the lock over when the lease runs out
	// has written theirs by now, or finds what is written here.
	rec, err := f.Read()
	if err != nil {
		return err
	}
	if err := b.checkRecord(f, rec, holder); err != nil {
		return err
	}
	return f.Write(next(rec))
}

// guardAt opens the lock file that is at the path of name now, with its guard.
func (b *backend) guardAt(ctx context.Context, name string) (*lockfile.File, error) {
	for {
		f, err := lockfile.Open(b.dir, b.dir.LockPath(name), true)
		if err != nil {
			return nil, err
		}
		err = f.Guard(ctx)
		if err == nil {
			// The file may have been taken away between the open and the guard;
			// from here on the guard keeps it.
			there, atErr := f.AtPath()
			if there && atErr == nil {
				return f, nil
			}
			f.Unguard()
			err = atErr
		}
		f.Close()
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}
