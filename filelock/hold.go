package filelock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// A hold is a grant of process mode: an open file with the lock.
type hold struct {
	grant driver.Grant

	mu   sync.Mutex
	file *lockfile.File // nil once the hold is over: the descriptor's number may be another file's
}

// add keeps the hold, unless the backend was closed in the meantime.
func (b *backend) add(h *hold) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.closed(); err != nil {
		return err
	}
	b.holds[h.grant.Holder] = h
	return nil
}

// find returns the hold of a grant, or nil.
func (b *backend) find(name, holder string) *hold {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[holder]; h != nil && h.grant.Name == name {
		return h
	}
	return nil
}

// forget drops the hold from those that Close ends.
func (b *backend) forget(h *hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holds, h.grant.Holder)
}

// drop frees the lock, and with it every duplicate of the descriptor.
func (h *hold) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return
	}
	h.file.Free()
	h.file.Close()
	h.file = nil
}

// check returns the LostError if the lock is not this hold's any more.
func (b *backend) check(h *hold) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return &fencehold.LostError{Reason: fencehold.ReasonExpired, Why: "released or closed"}
	}
	return b.checkFile(h.file, h.grant.Holder)
}

// checkFile looks whether the file is still at its path.
func (b *backend) checkFile(f *lockfile.File, holder string) error {
	there, err := f.AtPath()
	if there || err != nil {
		return err
	}
	// Who took it away by Revoke left a note in it before: it is there if the
	// file is not.
	if rec, err := f.Read(); err == nil && rec.Revoked != nil && rec.Revoked.Holder == holder {
		return b.lost(f, rec, holder)
	}
	return &fencehold.LostError{Reason: fencehold.ReasonDeleted, Why: "the lock file was removed"}
}

// keep writes that the lock stays taken when the hold is over.
func (h *hold) keep(ctx context.Context, b *backend, keep time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return &fencehold.LostError{Reason: fencehold.ReasonExpired}
	}
	// Under the guard, the file stays at its path: what is written to it is
	// seen by the next who comes.
	if err := h.file.Guard(ctx); err != nil {
		return err
	}
	defer h.file.Unguard()
	if err := b.checkFile(h.file, h.grant.Holder); err != nil {
		return err
	}
	// Read for its length, which the next record must cover.
	if _, err := h.file.Read(); err != nil {
		return err
	}
	return h.file.Write(b.kept(h.grant.Name, keep))
}

// Check implements [driver.Checker].
func (b *backend) Check(grant driver.Grant) error {
	if h := b.find(grant.Name, grant.Holder); h != nil {
		return b.check(h)
	}
	if err := b.closed(); err != nil {
		return &fencehold.LostError{Reason: fencehold.ReasonClosed}
	}
	_, err := b.leaseRecord(grant.Name, grant.Holder)
	return err
}

// Descriptor implements [driver.DescriptorHolder].
func (b *backend) Descriptor(grant driver.Grant) (uintptr, error) {
	h := b.find(grant.Name, grant.Holder)
	if h == nil {
		return 0, fmt.Errorf("a descriptor of a grant that is not of process mode: %w", errors.ErrUnsupported)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return 0, &fencehold.LostError{Reason: fencehold.ReasonExpired}
	}
	// Under the mutex: the number of a closed descriptor may be another file's.
	return h.file.Duplicate()
}
