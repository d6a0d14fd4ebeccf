package filelock

import (
	"context"
	"errors"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/flock"
	"github.com/fencehold/fencehold/filelock/internal/line"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// TryAcquire implements [driver.Backend].
func (b *backend) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := b.checkRequest(ctx, req); err != nil {
		return driver.Grant{}, err
	}
	if h := b.find(req.Name, req.Holder); h != nil {
		return b.renewHold(h, req.TTL)
	}
	l := b.line(req.Name)
	if !req.Barging {
		waiting, err := l.Waiting()
		if err != nil {
			return driver.Grant{}, err
		}
		if waiting {
			return b.behind(ctx, req, l)
		}
	}
	return b.attempt(ctx, req)
}

// behind answers an attempt that others wait before.
func (b *backend) behind(ctx context.Context, req driver.Request, l *line.Line) (driver.Grant, error) {
	held := b.holder(req.Name)
	if held.Holder == req.Holder && req.Holder != "" {
		return b.Resume(ctx, req.Name, req.Holder)
	}
	// Attempts alone must get past a first in line who was stopped: not to
	// answer this ring is what shows it.
	l.Wake()
	waiters, err := l.Waiters()
	held.Position = len(waiters) + 1
	return driver.Grant{}, errors.Join(held, err)
}

// checkRequest refuses what breaks a rule, before anything is opened.
func (b *backend) checkRequest(ctx context.Context, req driver.Request) error {
	if err := b.closed(); err != nil {
		return err
	}
	if err := lockdir.CheckName(req.Name); err != nil {
		return err
	}
	if req.Holder == "" {
		return invalid("holder of lock %q is empty", req.Name)
	}
	if err := checkTTL(req.Name, req.TTL); err != nil {
		return err
	}
	return ctx.Err()
}

// checkTTL refuses a TTL that is not kept reliably.
func checkTTL(name string, ttl time.Duration) error {
	if ttl < minTTL {
		return invalid("TTL %v of lock %q: must be at least %v", ttl, name, minTTL)
	}
	return nil
}

// leased says which of the two ways to hold req asks for.
func (b *backend) leased(req driver.Request) bool { return b.lease || req.Detached }

// attempt tries once to have the lock, whoever waits for it. An attempt begins
// again when the file that it has locked is not at its path any more.
func (b *backend) attempt(ctx context.Context, req driver.Request) (driver.Grant, error) {
	for {
		f, err := lockfile.OpenOrMake(b.dir, req.Name)
		if err != nil {
			return driver.Grant{}, err
		}
		grant, err := b.attemptOn(ctx, f, req)
		if !errors.Is(err, errReplaced) {
			return grant, err
		}
		if err := ctx.Err(); err != nil {
			return driver.Grant{}, err
		}
	}
}

// errReplaced is the answer of a file that is not at its path any more.
var errReplaced = errors.New("the lock file was replaced")

// attemptOn tries the lock on an open file. It closes the file unless a hold
// keeps it.
func (b *backend) attemptOn(ctx context.Context, f *lockfile.File, req driver.Request) (driver.Grant, error) {
	grant, err := b.grant(ctx, f, req)
	if err == nil && grant.Pinned {
		h := &hold{grant: grant, file: f}
		// Close may have ended the holds while this one was made.
		if err := b.add(h); err != nil {
			h.drop()
			return driver.Grant{}, err
		}
		return grant, nil
	}
	defer f.Close()
	if errors.Is(err, flock.ErrBusy) {
		return b.busy(ctx, f, req)
	}
	return grant, err
}

// busy says who holds the lock that the kernel refused.
func (b *backend) busy(ctx context.Context, f *lockfile.File, req driver.Request) (driver.Grant, error) {
	// It may be the holder that asks, if its grant is one of lease mode and
	// another attempt has the lock at the moment.
	held := b.holderOf(f)
	if held.Holder == req.Holder {
		return b.Resume(ctx, req.Name, req.Holder)
	}
	return driver.Grant{}, held
}

// grant takes the lock of the kernel, and decides. It keeps it for a grant of
// process mode only.
func (b *backend) grant(ctx context.Context, f *lockfile.File, req driver.Request) (driver.Grant, error) {
	// The guard keeps out those who change the record without the lock: a
	// renewal, a release or a revocation.
	if err := f.Take(ctx); err != nil {
		return driver.Grant{}, err
	}
	defer f.Unguard()
	grant, err := b.grantGuarded(ctx, f, req)
	if err != nil || !grant.Pinned {
		f.Free()
	}
	return grant, err
}

// grantGuarded makes the grant, or finds who has it. The order of its steps is
// that of the proof.
func (b *backend) grantGuarded(ctx context.Context, f *lockfile.File, req driver.Request) (driver.Grant, error) {
	// After the lock and under the guard: only then no revocation can take the
	// file away behind this look.
	there, err := f.AtPath()
	if err != nil {
		return driver.Grant{}, err
	}
	if !there {
		return driver.Grant{}, errReplaced
	}
	old, err := f.Standing()
	if err != nil {
		return driver.Grant{}, err
	}
	if left := b.remaining(old); left > 0 {
		if old.Holder == req.Holder {
			return b.leaseGrant(old), nil
		}
		return driver.Grant{}, b.held(old)
	}
	// While nobody else can take a token for this name: so they rise in the
	// order of the grants.
	token, err := b.counter.Next(ctx)
	if err != nil {
		return driver.Grant{}, err
	}
	grant := driver.Grant{Name: req.Name, Holder: req.Holder, Token: token, TTL: req.TTL}
	// The clock is read before the record is made, which reads its own: the
	// grant never seems to live longer than the record says.
	if b.leased(req) {
		grant.Sent = driver.Now()
	} else {
		grant.Sent, grant.Pinned = driver.MonotonicNow(), true
	}
	return grant, f.Write(b.newRecord(req, token, old))
}
