//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

func revocation(grant driver.Grant) driver.Revocation {
	return driver.Revocation{Name: grant.Name, Holder: grant.Holder, By: "operator", Why: "it hangs"}
}

func TestB80Revoke(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			victim, operator := newBackend(t, dir, opts), newBackend(t, dir, nil)
			grant := acquire(t, victim, "job")
			wrong := revocation(grant)
			wrong.Holder = driver.NewHolder()
			lost := mustBeLost(t, operator.Revoke(t.Context(), wrong), fencehold.ReasonTakenOver)
			if lost.By != "test" {
				t.Errorf("a wrong holder is told that the right one is %q", lost.By)
			}
			check(t, victim.Check(grant))

			check(t, operator.Revoke(t.Context(), revocation(grant)))
			next := acquire(t, operator, "job")
			for what, err := range map[string]error{
				"check":   victim.Check(grant),
				"release": victim.Release(t.Context(), grant, 0),
			} {
				lost := mustBeLost(t, err, fencehold.ReasonRevoked)
				if lost.By != "operator" || lost.Why != "it hangs" {
					t.Errorf("%s of the victim: %v", what, lost)
				}
			}
			mustBeLost(t, operator.Revoke(t.Context(), revocation(grant)), lostAgain(opts == nil))
			check(t, operator.Check(next))
			mustBeHeld(t, victim, "job")
			release(t, operator, next)
		})
	}
}

// lostAgain is what a second revocation of the same grant is told: the note is
// in the file that was taken away, or in the record of the next holder.
func lostAgain(process bool) fencehold.Reason {
	if process {
		return fencehold.ReasonTakenOver
	}
	return fencehold.ReasonRevoked
}

func TestB80RevokeOfAFreeLock(t *testing.T) {
	t.Parallel()
	b := newBackend(t, t.TempDir(), nil)
	grant := acquire(t, b, "job")
	release(t, b, grant)
	mustBeLost(t, b.Revoke(t.Context(), revocation(grant)), fencehold.ReasonExpired)
	grant.Name = "never used"
	mustBeLost(t, b.Revoke(t.Context(), revocation(grant)), fencehold.ReasonDeleted)
	grant.Holder = ""
	if err := b.Revoke(t.Context(), revocation(grant)); !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("revocation of nobody: %v", err)
	}
}

func TestRevokeHandsOn(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := newBackend(t, dir, opts)
			grant := acquire(t, b, "job")
			had := make(chan time.Time)
			go func() {
				next, err := b.Acquire(context.Background(), request("job"))
				if err != nil {
					t.Error(err)
				}
				had <- time.Now()
				release(t, b, next)
				had <- time.Now()
			}()
			awaitWaiters(t, b, "job", 1)
			start := time.Now()
			check(t, b.Revoke(t.Context(), revocation(grant)))
			if took := (<-had).Sub(start); took > 100*time.Millisecond+slack {
				t.Errorf("handed on in %v", took)
			}
			<-had
		})
	}
}

// The holder that is named releases, and others acquire, at any moment of the
// revocation: nobody but the one who was named may lose the lock.
func TestRevokeMeetsReleaseAndAcquire(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			operator := newBackend(t, dir, nil)
			named := make(chan driver.Grant)
			stop := make(chan struct{})
			var all sync.WaitGroup
			for range 3 {
				b := newBackend(t, dir, opts)
				all.Go(func() { holdAndTell(t, b, named, stop) })
			}
			var revoked, late int
			for range rounds(5000) {
				err := operator.Revoke(t.Context(), revocation(<-named))
				switch {
				case err == nil:
					revoked++
				case errors.Is(err, fencehold.ErrLost):
					late++
				default:
					t.Error(err)
				}
			}
			close(stop)
			all.Wait()
			if revoked == 0 || late == 0 {
				t.Errorf("%d revocations succeeded, %d came too late: both should happen", revoked, late)
			}
		})
	}
}

// holdAndTell acquires again and again. Half of the grants are named to the
// operator just before they are released; the others must not be lost.
func holdAndTell(t *testing.T, b full, named chan<- driver.Grant, stop <-chan struct{}) {
	for i := 0; ; i++ {
		req := request("job")
		req.Barging = true
		grant, err := b.Acquire(context.Background(), req)
		if err != nil {
			t.Error(err)
			return
		}
		if i%2 == 0 {
			select {
			case named <- grant:
				for range i % 7 {
					_ = b.Check(grant)
				}
			case <-stop:
				release(t, b, grant)
				return
			}
		}
		err = b.Release(context.Background(), grant, 0)
		var lost *fencehold.LostError
		switch {
		case err == nil:
		case i%2 == 1 || !errors.As(err, &lost):
			t.Errorf("grant %d: %v", i, err)
		case grant.Pinned && lost.Reason != fencehold.ReasonRevoked:
			// In lease mode the next revocation replaces the note.
			t.Errorf("grant %d, which was revoked: %v", i, err)
		}
	}
}

func TestRemovedFileIsALoss(t *testing.T) {
	t.Parallel()
	for name, takeAway := range map[string]func(path string) error{
		"removed":  os.Remove,
		"renamed":  func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := newBackend(t, dir, nil)
			grant := acquire(t, b, "job")
			check(t, takeAway(lockFile(dir, "job")))
			mustBeLost(t, b.Check(grant), fencehold.ReasonDeleted)
			_, err := b.Renew(t.Context(), grant, limit)
			mustBeLost(t, err, fencehold.ReasonDeleted)
			next := acquire(t, b, "job")
			mustBeLost(t, b.Release(t.Context(), grant, 0), fencehold.ReasonDeleted)
			check(t, b.Check(next))
			if next.Token <= grant.Token {
				t.Errorf("token %d after %d", next.Token, grant.Token)
			}
			release(t, b, next)
		})
	}
}

func TestRemovedFileOfALease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, leaseMode)
	grant := acquire(t, b, "job")
	check(t, os.Remove(lockFile(dir, "job")))
	mustBeLost(t, b.Check(grant), fencehold.ReasonDeleted)
	_, err := b.Renew(t.Context(), grant, limit)
	mustBeLost(t, err, fencehold.ReasonDeleted)
	mustBeLost(t, b.Release(t.Context(), grant, 0), fencehold.ReasonDeleted)
}

// The core looks once a second: a lease under it ends within that time.
func TestLossIsNoticedWithinASecond(t *testing.T) {
	t.Parallel()
	for name, takeAway := range map[string]func(c *fencehold.Client, dir string, lease *fencehold.Lease) error{
		"removed": func(_ *fencehold.Client, dir string, _ *fencehold.Lease) error {
			return os.Remove(filepath.Join(dir, "job.lock"))
		},
		"revoked": func(c *fencehold.Client, _ string, lease *fencehold.Lease) error {
			return c.Unlock(context.Background(), "job", lease.Fence().Holder, "it hangs")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			client, err := fencehold.Open(t.Context(), "file://"+dir)
			check(t, err)
			defer client.Close()
			operator, err := fencehold.Open(t.Context(), "file://"+dir)
			check(t, err)
			defer operator.Close()
			lease, err := client.Mutex("job").Acquire(t.Context())
			check(t, err)
			start := time.Now()
			check(t, takeAway(operator, dir, lease))
			<-lease.Done()
			if took := time.Since(start); took > time.Second+slack {
				t.Errorf("the loss was noticed after %v", took)
			}
			if !errors.Is(lease.Err(), fencehold.ErrLost) {
				t.Errorf("the lease ended with %v", lease.Err())
			}
		})
	}
}
