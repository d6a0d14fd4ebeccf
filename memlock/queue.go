package memlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// waiter is one who stands in line. The grant is put there when the turn comes.
type waiter struct {
	req     driver.Request
	since   time.Time
	granted chan driver.Grant
}

// Acquire takes the lock or stands in line for it.
func (b *backend) Acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	s := b.server
	sent := driver.MonotonicNow()
	var grant driver.Grant
	var w *waiter
	lost := b.call(ctx, "acquire", req.Name, req.Holder, func() {
		var err error
		if grant, err = s.try(req); err != nil {
			w = s.enqueue(req)
		}
	})
	switch {
	case lost != nil && w != nil:
		_, _ = s.leave(w)
		return driver.Grant{}, lost
	case lost != nil:
		return driver.Grant{}, lost
	case w == nil:
		grant.Sent = sent
		return grant, nil
	}
	select {
	case grant = <-w.granted:
		return grant, nil
	case <-ctx.Done():
		return s.giveUp(ctx, w)
	}
}

func (s *Server) enqueue(req driver.Request) *waiter {
	l := s.locks[req.Name]
	w := &waiter{req: req, since: time.Now(), granted: make(chan driver.Grant, 1)}
	l.queue = slices.Insert(l.queue, l.place(req), w)
	s.watch(l)
	return w
}

// place is where a request stands in line: at the end, or behind the others
// that barge.
func (l *lock) place(req driver.Request) int {
	if !req.Barging {
		return len(l.queue)
	}
	first := slices.IndexFunc(l.queue, func(w *waiter) bool { return !w.req.Barging })
	if first < 0 {
		return len(l.queue)
	}
	return first
}

// giveUp leaves the line. A grant that came at the same moment is taken: what
// to do with it is for the caller to say.
func (s *Server) giveUp(ctx context.Context, w *waiter) (driver.Grant, error) {
	position, held := s.leave(w)
	// The grant and the end of ctx may have come together.
	select {
	case grant := <-w.granted:
		return grant, nil
	default:
	}
	if position == 0 {
		return driver.Grant{}, ctx.Err()
	}
	return driver.Grant{}, errors.Join(ctx.Err(), held)
}

// leave removes a waiter and says where it stood, and behind whom.
func (s *Server) leave(w *waiter) (position int, held error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[w.req.Name]
	if l == nil {
		return 0, nil
	}
	i := slices.Index(l.queue, w)
	if i < 0 {
		return 0, nil
	}
	held = s.held(l, i+1)
	l.queue = slices.Delete(l.queue, i, i+1)
	s.watch(l)
	return i + 1, held
}
