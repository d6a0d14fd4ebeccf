package fencehold

import (
	"context"
	"slices"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/lazycontext"
)

// Resume takes up a lease that another process acquired with [WithDetached],
// given the name and the holder id of its fence; a token in it must be the
// right one. It returns [ErrLost] if that grant does not stand any more. A
// resumed lease is detached; limits on holding count from the resumption. ctx
// bounds the call.
func (c *Client) Resume(ctx context.Context, f Fence, opts ...Option) (*Lease, error) {
	m := c.Mutex(f.Name, slices.Concat(opts, []Option{WithDetached()})...)
	lease, err := m.resume(ctx, f)
	return lease, c.wrap("resume", f.Name, err)
}

func (m *Mutex) resume(ctx context.Context, f Fence) (*Lease, error) {
	c := m.client
	resumer, ok := c.backend.(driver.Resumer)
	switch {
	case m.err != nil:
		return nil, m.err
	case f.Holder == "":
		return nil, invalid("holder is empty: want the id that the grant was given")
	case !ok:
		return nil, unsupported("resuming a lease")
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.working.Done()
	lazy := lazycontext.New(ctx, c.whileOpen)
	defer lazy.Release()
	grant, err := resumer.Resume(lazy, f.Name, f.Holder)
	switch {
	case err != nil:
		return nil, classify(lazy, err)
	case f.Token != 0 && f.Token != grant.Token:
		return nil, invalid("token %v is not that of holder %s", f.Token, quoteName(f.Holder))
	case !termOf(grant).holds():
		return nil, &LostError{Reason: ReasonExpired}
	}
	l := newLease(c, m.settings, grant, time.Now())
	c.schedule.add(l)
	l.askRedundancy()
	return l, nil
}
