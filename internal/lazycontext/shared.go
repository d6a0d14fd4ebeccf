package lazycontext

import (
	"context"
	"reflect"
	"sync"
)

// Shared derives contexts, and one for all who come with the same parent: a
// worker asks for lock after lock under one context, and a server for many
// locks under that of one request. The last one made is kept for who comes
// next, until its parent ends, another parent comes, or Close.
type Shared struct {
	derive func(context.Context) (context.Context, context.CancelFunc)

	mu     sync.Mutex
	latest *share
	closed bool
}

// share is one context with those who use it.
type share struct {
	parent, actual context.Context
	cancel         context.CancelFunc
	leave          context.CancelFunc // of each user, once
	users          int
}

// NewShared returns a Shared whose contexts derive makes.
func NewShared(derive func(context.Context) (context.Context, context.CancelFunc)) *Shared {
	return &Shared{derive: derive}
}

// Derive returns a context for a parent, and what its user calls in the end.
func (s *Shared) Derive(parent context.Context) (context.Context, context.CancelFunc) {
	if reflect.ValueOf(parent).Kind() != reflect.Pointer {
		return s.derive(parent) // it may not be comparable
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.latest
	if h == nil || h.parent != parent {
		h = s.replace(parent)
	}
	h.users++
	return h.actual, h.leave
}

// replace makes the context of another parent the latest one.
func (s *Shared) replace(parent context.Context) *share {
	s.drop()
	h := &share{parent: parent}
	h.actual, h.cancel = s.derive(parent)
	h.leave = func() { s.leave(h) }
	if !s.closed {
		s.latest = h
	}
	return h
}

// drop forgets the latest one, which ends with its last user.
func (s *Shared) drop() {
	if h := s.latest; h != nil && h.users == 0 {
		h.cancel()
	}
	s.latest = nil
}

func (s *Shared) leave(h *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.users--; h.users == 0 && (s.latest != h || h.actual.Err() != nil) {
		h.cancel()
		if s.latest == h {
			s.latest = nil
		}
	}
}

// Close keeps none any more.
func (s *Shared) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.drop()
}
