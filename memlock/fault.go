package memlock

import (
	"context"
	"errors"
	"time"
)

// A Call is one request on its way to the server.
type Call struct {
	// Op is "acquire", "try", "renew", "release", "revoke" or "inspect".
	Op string
	// Name is the lock's, Holder the grant's.
	Name   string
	Holder string
}

// A Fault is what happens to a call. The zero Fault is none.
type Fault struct {
	// Delay holds the request up, ReplyDelay the answer.
	Delay      time.Duration
	ReplyDelay time.Duration
	// DropRequest loses the request before the server sees it, DropReply the
	// answer after the server has done what was asked. The caller hears
	// nothing until its context ends, or gets Err at once.
	DropRequest bool
	DropReply   bool
	// Err is returned instead of an answer; without DropReply the server has
	// not seen the request. To deny a renewal as the server would, use a
	// LostError of package fencehold.
	Err error
}

// Script lets fault decide what happens to each call from now on, on the
// goroutine of the caller. With nil, calls go through.
func (s *Server) Script(fault func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = fault
}

// errSilence is what a lost request or answer looks like in the end.
var errSilence = errors.New("memlock: no answer")

// exchange runs one request with what the script does to it.
func (s *Server) exchange(ctx context.Context, call Call, execute func()) error {
	s.mu.Lock()
	script := s.script
	if script == nil {
		defer s.mu.Unlock()
		execute()
		return nil
	}
	s.mu.Unlock()
	return s.disturbed(ctx, script(call), execute)
}

func (s *Server) disturbed(ctx context.Context, f Fault, execute func()) error {
	if err := pause(ctx, f.Delay); err != nil {
		return err
	}
	if f.DropRequest || f.Err != nil && !f.DropReply {
		return silence(ctx, f.Err)
	}
	s.mu.Lock()
	execute()
	s.mu.Unlock()
	if err := pause(ctx, f.ReplyDelay); err != nil {
		return err
	}
	if f.DropReply {
		return silence(ctx, f.Err)
	}
	return nil
}

func silence(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	<-ctx.Done()
	return errors.Join(errSilence, ctx.Err())
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
