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
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	if l.err != nil {
		cancel(l.err)
		return c
	}
	if l.contexts == nil {
		l.contexts = map[*leaseContext]struct{}{}
	}
	l.contexts[c] = struct{}{}
	if parent.Done() != nil {
		// Whichever ends first, the lease or the parent, must not leave
		// anything behind with the other: both may live long.
		c.stop = context.AfterFunc(parent, func() { l.forget(c) })
	}
	return c
}

func (l *Lease) forget(c *leaseContext) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.contexts, c)
}
