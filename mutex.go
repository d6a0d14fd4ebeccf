package fencehold

import (
	"context"
	"errors"
)

// Mutex is a named lock with at most one holder. It keeps no state of its own:
// it may be shared, copied and made again, and every grant is a new [Lease].
// It is not reentrant: whoever holds the lock and asks again is one more
// waiter.
type Mutex struct {
	client   *Client
	name     string
	settings *config
	err      error // what is wrong with name or options
}

// Name is the name of the lock.
func (m *Mutex) Name() string { return m.name }

// TryAcquire makes one attempt and returns [ErrHeld] if somebody else has the
// lock. ctx bounds the attempt, not the lease. An attempt whose outcome stays
// unknown is [ErrUnavailable], and is undone in the background: it keeps the
// lock no longer than its TTL.
func (m *Mutex) TryAcquire(ctx context.Context) (*Lease, error) {
	lease, err := m.acquire(ctx, false)
	return lease, m.client.wrap("try", m.name, err)
}

// Acquire waits until the lock is granted, in the order of arrival where the
// backend can. It returns [ErrHeld] when [WithMaxWait] is over, and the
// context's error when ctx ends first; then nothing is left behind in the
// line. ctx bounds the waiting alone: the lease outlives it.
func (m *Mutex) Acquire(ctx context.Context) (*Lease, error) {
	lease, err := m.acquire(ctx, m.settings.maxWait != 0)
	return lease, m.client.wrap("acquire", m.name, err)
}

// Do runs work while holding the lock, and releases it however work ends, also
// by a panic, which goes on. Without the lock work does not run. Its context
// descends from ctx, carries the fence, and ends with the lease, with the loss
// as its cause. The error is that of work, joined with [ErrLost] if the lock
// was lost meanwhile and with the error of the release if there was one.
func (m *Mutex) Do(ctx context.Context, work func(context.Context) error) (err error) {
	lease, err := m.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		released := lease.Release(ctx)
		if errors.Is(released, ErrLost) && errors.Is(err, ErrLost) {
			return // the work has said so already
		}
		err = errors.Join(err, released)
	}()
	return work(lease.Context(ctx))
}
