package filelock

import (
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// newRecord describes the grant that req asks for.
func (b *backend) newRecord(req driver.Request, token fence.Token, old lockfile.Record) lockfile.Record {
	rec := lockfile.Record{
		Mode:   lockfile.ProcessMode,
		Name:   req.Name,
		Holder: req.Holder,
		Token:  token,
		Owner:  req.Owner,
		Host:   b.host,
		PID:    b.pid,
		Since:  time.Now().Round(0),
		TTL:    req.TTL.String(),
		Labels: req.Labels,
		// The victim of a revocation in lease mode may look late.
		Revoked: old.Revoked,
	}
	if b.leased(req) {
		rec.Mode = lockfile.LeaseMode
		rec.Until = b.boot.In(req.TTL)
	}
	return rec
}

// kept is the record of a lock that stays taken for a while by nobody.
func (b *backend) kept(name string, keep time.Duration) lockfile.Record {
	return lockfile.Record{
		Mode: lockfile.LeaseMode, Name: name, TTL: keep.String(), Kept: true, Holder: driver.NewHolder(),
		Since: time.Now().Round(0), Until: b.boot.In(keep),
	}
}

// remaining is how long the record says that the lock is still held, whether
// the process lives or not.
func (b *backend) remaining(rec lockfile.Record) time.Duration { return b.boot.Until(rec.Until) }

// leaseGrant is the grant of a record of lease mode.
func (b *backend) leaseGrant(rec lockfile.Record) driver.Grant {
	// The clocks are read in this order: the grant never seems to live longer
	// than the record says.
	sent := driver.Now()
	return driver.Grant{Name: rec.Name, Holder: rec.Holder, Token: rec.Token, Sent: sent, TTL: b.remaining(rec)}
}

// holder describes who has the lock, as far as that can be known.
func (b *backend) holder(name string) *fencehold.HeldError {
	f, err := lockfile.Open(b.dir, b.dir.LockPath(name), false)
	if err != nil {
		return &fencehold.HeldError{}
	}
	defer f.Close()
	return b.holderOf(f)
}

// holderOf is holder for a file that is open.
func (b *backend) holderOf(f *lockfile.File) *fencehold.HeldError {
	// A record that does not stand is that of an earlier holder: better nobody
	// is named than the wrong one.
	rec, held, err := f.Observe(b.boot)
	if err != nil || !held {
		return &fencehold.HeldError{}
	}
	return b.held(rec)
}

// held describes the holder to one who has to wait.
func (b *backend) held(rec lockfile.Record) *fencehold.HeldError {
	return &fencehold.HeldError{
		Holder: rec.Holder, Owner: rec.Owner, Since: rec.Since, Remaining: b.remaining(rec),
	}
}
