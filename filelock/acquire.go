package filelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// patience is how long an attempt waits for one who is just changing the
// record. That takes microseconds, so one who takes longer was stopped in the
// middle of it, and is about to have the lock.
const patience = 100 * time.Millisecond

// TryAcquire implements [driver.Backend].
func (b *backend) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := b.checkRequest(ctx, req); err != nil {
		return driver.Grant{}, err
	}
	if h := b.find(req.Name, req.Holder); h != nil {
		return b.renewHold(h, req.TTL)
	}
	line := b.line(req.Name)
	if !req.Barging {
		front, err := line.front(nil)
		if err != nil {
			return driver.Grant{}, err
		}
		if front != nil {
			return b.behind(ctx, req, line)
		}
	}
	return b.attempt(ctx, req)
}

// behind answers an attempt that others wait before. Nobody is left out of the
// line for good by one who was stopped in it: the poke shows that.
func (b *backend) behind(ctx context.Context, req driver.Request, line *line) (driver.Grant, error) {
	held := b.holder(req.Name)
	if held.Holder == req.Holder && req.Holder != "" {
		return b.Resume(ctx, req.Name, req.Holder)
	}
	line.wake()
	n, err := line.living()
	held.Position = len(n) + 1
	return driver.Grant{}, errors.Join(held, err)
}

// checkRequest refuses what breaks a rule, before anything is opened.
func (b *backend) checkRequest(ctx context.Context, req driver.Request) error {
	if err := b.closed(); err != nil {
		return err
	}
	if err := checkName(req.Name); err != nil {
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
		f, err := b.dir.openLock(req.Name)
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
func (b *backend) attemptOn(ctx context.Context, f *lockFile, req driver.Request) (driver.Grant, error) {
	grant, err := b.grant(ctx, f, req)
	if err == nil && grant.Pinned {
		h := &hold{grant: grant, file: f}
		if err := b.add(h); err != nil {
			h.drop()
			return driver.Grant{}, err
		}
		return grant, nil
	}
	defer f.close()
	if errors.Is(err, errBusy) {
		return b.busy(ctx, f, req)
	}
	return grant, err
}

// busy says who holds the lock that the kernel refused. It may be the holder
// that asks, if its grant is one of lease mode and another attempt has the
// lock at the moment.
func (b *backend) busy(ctx context.Context, f *lockFile, req driver.Request) (driver.Grant, error) {
	held := b.holderOf(f)
	if held.Holder == req.Holder {
		return b.Resume(ctx, req.Name, req.Holder)
	}
	return driver.Grant{}, held
}

// grant takes guard and mark, then the lock, and decides. The mark comes before
// the lock and goes after it, so that a lock without a mark is never one of
// ours. The guard keeps out those who change the record without the lock: a
// renewal, a release or a revocation.
func (b *backend) grant(ctx context.Context, f *lockFile, req driver.Request) (driver.Grant, error) {
	if err := guardAttempt(ctx, f); err != nil {
		return driver.Grant{}, err
	}
	defer f.unguard()
	err := f.tryLock()
	if err == nil {
		var grant driver.Grant
		if grant, err = b.grantGuarded(ctx, f, req); err == nil && grant.Pinned {
			return grant, nil
		}
		_ = f.unlock()
		f.unmark()
		return grant, err
	}
	f.unmark()
	return driver.Grant{}, err
}

// guardAttempt takes guard and mark. The answer is errBusy at once if the mark
// is a holder's, and in the end if somebody has the guard for longer than a
// change takes: they are about to hold the lock.
func guardAttempt(ctx context.Context, f *lockFile) error {
	err := f.tryGuardAndMark()
	if !errors.Is(err, errBusy) {
		return err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	held := false
	err = poll(within, func() error {
		var err error
		if held, err = f.marked(); held || err != nil {
			return err
		}
		return f.tryGuardAndMark()
	})
	if held || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return errBusy
	}
	return err
}

// grantGuarded makes the grant, or finds who has it. The order is that of the
// proof: that the file is the one at its path counts from here on only because
// the guard keeps a revocation out, and the token is taken while nobody else can
// take one for this name.
func (b *backend) grantGuarded(ctx context.Context, f *lockFile, req driver.Request) (driver.Grant, error) {
	there, err := f.atPath()
	if err != nil {
		return driver.Grant{}, err
	}
	if !there {
		return driver.Grant{}, errReplaced
	}
	old, err := f.standing()
	if err != nil {
		return driver.Grant{}, err
	}
	if left := b.remaining(old); left > 0 {
		if old.Holder == req.Holder {
			return b.leaseGrant(old), nil
		}
		return driver.Grant{}, b.held(old)
	}
	token, err := b.counter.next(ctx)
	if err != nil {
		return driver.Grant{}, err
	}
	grant := driver.Grant{Name: req.Name, Holder: req.Holder, Token: token, TTL: req.TTL}
	if b.leased(req) {
		grant.Sent = driver.Now()
	} else {
		grant.Sent, grant.Pinned = driver.MonotonicNow(), true
	}
	return grant, f.write(b.newRecord(req, token, old))
}

// holder describes who has the lock, as far as that can be known.
func (b *backend) holder(name string) *fencehold.HeldError {
	f, err := b.dir.openFile(b.dir.lockPath(name), false)
	if err != nil {
		return &fencehold.HeldError{}
	}
	defer f.close()
	return b.holderOf(f)
}

// holderOf is holder for a file that is open.
func (b *backend) holderOf(f *lockFile) *fencehold.HeldError {
	rec, held, err := b.observe(f)
	if err != nil || !held {
		return &fencehold.HeldError{}
	}
	return b.held(rec)
}

// unsupported returns an [errors.ErrUnsupported] that names what is missing.
func unsupported(what string) error { return fmt.Errorf("%s: %w", what, errors.ErrUnsupported) }
