package fencehold

import (
	"context"

	"github.com/fencehold/fencehold/fence"
)

// leaseContext is a context whose Err asks the clocks, so that work which
// looks at it after a pause learns at once what a late timer would tell later.
type leaseContext struct {
	context.Context
	lease  *Lease
	cancel context.CancelCauseFunc
	stop   func() bool // forgets about the parent
}

// Err ends the lease if its time is over, before it answers.
func (c *leaseContext) Err() error {
	_ = c.lease.Err()
	return c.Context.Err()
}

// Context returns a copy of parent that carries the [Fence] and is cancelled
// when the lease is over, before the lock service can give the lock away;
// [context.Cause] says how it ended. Work that the lock protects runs under
// it.
func (l *Lease) Context(parent context.Context) context.Context {
	inner, cancel := context.WithCancelCause(fence.NewContext(parent, l.Fence()))
	c := &leaseContext{Context: inner, lease: l, cancel: cancel, stop: func() bool { return true }}
	if parent.Done() != nil {
		// Whichever ends first, the lease or the parent, must not leave
		// anything behind with the other: both may live long. The parent may
		// be the context of a lease, this one even, and asks it for its error
		// here: so no mutex of a lease is held.
		c.stop = context.AfterFunc(parent, func() { l.forget(c) })
	}
	if err := l.remember(c); err != nil {
		c.stop()
		cancel(err)
	}
	return c
}

// remember has the context end with the lease, or says how the lease has ended.
func (l *Lease) remember(c *leaseContext) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	if l.err != nil {
		return l.how()
	}
	if c.Context.Err() != nil {
		return nil // the parent has ended, and forget may have been there
	}
	if l.contexts == nil {
		l.contexts = map[*leaseContext]struct{}{}
	}
	l.contexts[c] = struct{}{}
	return nil
}

func (l *Lease) forget(c *leaseContext) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.contexts, c)
}
