package fencehold

import (
	"context"

	"github.com/fencehold/fencehold/fence"
)

// leaseContext is a context whose Err asks the clocks, so that work which
// looks at it after a pause learns at once what a late timer would tell later.
type leaseContext struct {
	context.Context
	lease *Lease
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
	c := &leaseContext{Context: inner, lease: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	if l.err != nil {
		cancel(l.err)
		return c
	}
	if l.contexts == nil {
		l.contexts = map[*leaseContext]context.CancelCauseFunc{}
	}
	l.contexts[c] = cancel
	if parent.Done() != nil {
		// A parent that ends first must not leave its child behind here.
		context.AfterFunc(parent, func() { l.forget(c) })
	}
	return c
}

func (l *Lease) forget(c *leaseContext) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.contexts, c)
}
