// Package lazycontext makes contexts that cost nothing until they are waited for.
package lazycontext

import (
	"context"
	"sync"
	"time"
)

// Context is a context that is made when somebody first asks when it is done.
// A free lock is acquired and released without waiting, and a timer and two
// registrations would be most of what that costs in memory or in a file.
type Context struct {
	context.Context // the parent, until then
	derive          func(context.Context) (context.Context, context.CancelFunc)

	once   sync.Once
	mu     sync.Mutex
	actual context.Context
	cancel context.CancelFunc
}

// New returns a context that derive will make of parent.
func New(parent context.Context, derive func(context.Context) (context.Context, context.CancelFunc)) *Context {
	return &Context{Context: parent, derive: derive}
}

// Done makes the context.
func (c *Context) Done() <-chan struct{} {
	c.once.Do(func() {
		actual, cancel := c.derive(c.Context)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.actual, c.cancel = actual, cancel
	})
	return c.current().Done()
}

func (c *Context) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.actual != nil {
		return c.actual
	}
	return c.Context
}

// Err is that of the parent until the context is made.
func (c *Context) Err() error { return c.current().Err() }

// Value leads children to the context that was made, so that they need no
// goroutine to follow it.
func (c *Context) Value(key any) any { return c.current().Value(key) }

// Deadline makes the context, so as to know it.
func (c *Context) Deadline() (time.Time, bool) {
	c.Done()
	return c.current().Deadline()
}

// Release frees what was made, once: others may share it.
func (c *Context) Release() {
	c.mu.Lock()
	cancel := c.cancel
	c.cancel = nil
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
