package memlock

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// minTTL is the floor: what a goroutine on a busy machine can keep up with.
const minTTL = 100 * time.Millisecond

// backend is one connection to a server.
type backend struct {
	server   *Server
	features driver.Features
	closed   atomic.Bool
}

// Info describes the server.
func (b *backend) Info() driver.Info {
	return driver.Info{
		Kind: "memory", URL: "mem://", MinTTL: minTTL,
		Features: b.features,
	}
}

// Close ends the connection; grants stand until their time is over.
func (b *backend) Close() error {
	b.closed.Store(true)
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	delete(b.server.watchers, b)
	return nil
}

// call sends one request.
func (b *backend) call(ctx context.Context, op, name, holder string, execute func()) error {
	switch {
	case b.closed.Load():
		return fencehold.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return b.server.exchange(ctx, Call{Op: op, Name: name, Holder: holder}, execute)
}

// TryAcquire takes the lock if it is free.
func (b *backend) TryAcquire(ctx context.Context, req driver.Request) (grant driver.Grant, err error) {
	sent := driver.MonotonicNow()
	lost := b.call(ctx, "try", req.Name, req.Holder, func() {
		grant, err = b.server.try(req)
	})
	if lost != nil {
		return driver.Grant{}, lost
	}
	if err == nil {
		grant.Sent = sent
	}
	return grant, err
}

// try grants a free lock, and answers its holder with what it has.
func (s *Server) try(req driver.Request) (driver.Grant, error) {
	l := s.lookup(req.Name)
	switch {
	case l == nil:
		l = &lock{name: req.Name}
		s.locks[req.Name] = l
		return s.grant(l, req), nil
	case l.req.Holder == req.Holder:
		return s.standing(l), nil
	}
	return driver.Grant{}, s.held(l, 0)
}

// standing is the grant of a holder that asks again, with the time it has left.
func (s *Server) standing(l *lock) driver.Grant {
	return driver.Grant{Name: l.name, Holder: l.req.Holder, Token: l.token, TTL: l.expires - s.now()}
}

// Renew lets the grant live on.
func (b *backend) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	renewal := driver.Renewal{Grant: grant, TTL: ttl}
	b.RenewBatch(ctx, []*driver.Renewal{&renewal})
	return renewal.Renewed, renewal.Err
}

// RenewBatch renews in one request, under the name and holder of the first.
func (b *backend) RenewBatch(ctx context.Context, renewals []*driver.Renewal) {
	first := renewals[0].Grant
	sent := driver.MonotonicNow()
	lost := b.call(ctx, "renew", first.Name, first.Holder, func() {
		for _, r := range renewals {
			r.Renewed, r.Err = b.server.renew(r.Grant, r.TTL)
			r.Renewed.Sent = sent
		}
	})
	if lost == nil {
		return
	}
	for _, r := range renewals {
		r.Renewed, r.Err = driver.Grant{}, lost
	}
}

func (s *Server) renew(grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	l, err := s.mine(grant.Name, grant.Holder)
	if err != nil {
		return driver.Grant{}, err
	}
	l.expires = max(l.expires, s.now()+ttl)
	s.watch(l)
	return s.standing(l), nil
}

// Release ends the grant.
func (b *backend) Release(ctx context.Context, grant driver.Grant, keep time.Duration) (err error) {
	lost := b.call(ctx, "release", grant.Name, grant.Holder, func() {
		err = b.server.release(grant, keep)
	})
	if lost != nil {
		return lost
	}
	return err
}

func (s *Server) release(grant driver.Grant, keep time.Duration) error {
	l, err := s.mine(grant.Name, grant.Holder)
	if err != nil {
		return err
	}
	if keep > 0 {
		l.req, l.kept = driver.Request{Holder: driver.NewHolder()}, true
		l.expires = s.now() + keep
		s.watch(l)
		return nil
	}
	s.free(l)
	return nil
}

// Resume returns the grant that stands.
func (b *backend) Resume(ctx context.Context, name, holder string) (grant driver.Grant, err error) {
	sent := driver.MonotonicNow()
	lost := b.call(ctx, "inspect", name, holder, func() {
		var l *lock
		if l, err = b.server.mine(name, holder); err == nil {
			grant = b.server.standing(l)
		}
	})
	if lost != nil {
		return driver.Grant{}, lost
	}
	grant.Sent = sent
	return grant, err
}

// Revoke takes the lock from its holder.
func (b *backend) Revoke(ctx context.Context, r driver.Revocation) (err error) {
	how := &fencehold.LostError{Reason: fencehold.ReasonRevoked, By: r.By, Why: r.Why}
	var tell []func(name, holder string, how error)
	lost := b.call(ctx, "revoke", r.Name, r.Holder, func() {
		var l *lock
		if l, err = b.server.mine(r.Name, r.Holder); err == nil {
			b.server.note(r.Holder, how)
			b.server.free(l)
			tell = slices.Collect(maps.Values(b.server.watchers))
		}
	})
	for _, lostTo := range tell {
		lostTo(r.Name, r.Holder, how)
	}
	if lost != nil {
		return lost
	}
	return err
}

// Watch implements [driver.Watcher]: a revoked grant ends at once.
func (b *backend) Watch(told driver.Told) {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.server.watchers[b] = told.Lost
}
