package lazycontext_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold/internal/lazycontext"
)

type key struct{}

// counted derives contexts and knows how many were made, and how many of them
// have not been freed.
type counted struct{ made, open atomic.Int32 }

func (c *counted) derive(parent context.Context) (context.Context, context.CancelFunc) {
	c.made.Add(1)
	c.open.Add(1)
	ctx, cancel := context.WithCancel(parent)
	return ctx, func() {
		c.open.Add(-1)
		cancel()
	}
}

func (c *counted) must(t *testing.T, what string, made, open int32) {
	t.Helper()
	if m, o := c.made.Load(), c.open.Load(); m != made || o != open {
		t.Fatalf("%s: %d were made and %d are open, want %d and %d", what, m, o, made, open)
	}
}

func TestOneContextForOneParent(t *testing.T) {
	var c counted
	s := lazycontext.NewShared(c.derive)
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	one, leave := s.Derive(parent)
	other, leaveToo := s.Derive(parent)
	if one != other {
		t.Error("two contexts for one parent")
	}
	leave()
	if one.Err() != nil {
		t.Error("it ended with the first user")
	}
	leaveToo()
	if again, leave := s.Derive(parent); again != one || again.Err() != nil {
		t.Error("it was not kept for the next user")
	} else {
		leave()
	}
	c.must(t, "one parent", 1, 1)
	s.Close()
	c.must(t, "closed", 1, 0)
}

// Whoever has the context of another parent keeps it until leaving.
func TestTwoParents(t *testing.T) {
	var c counted
	s := lazycontext.NewShared(c.derive)
	one, leaveOne := s.Derive(context.WithValue(t.Context(), key{}, 1))
	two, leaveTwo := s.Derive(context.WithValue(t.Context(), key{}, 2))
	if one.Value(key{}) != 1 || two.Value(key{}) != 2 || one.Err() != nil || two.Err() != nil {
		t.Fatal("mixed up")
	}
	leaveOne()
	c.must(t, "the older one was left", 2, 1)
	if one.Err() == nil || two.Err() != nil {
		t.Errorf("errors %v and %v", one.Err(), two.Err())
	}
	leaveTwo()
	c.must(t, "the newer one is kept", 2, 1)
	_, leave := s.Derive(context.WithValue(t.Context(), key{}, 3))
	c.must(t, "until another parent comes", 3, 1)
	s.Close()
	c.must(t, "closed, and still used", 3, 1)
	leave()
	c.must(t, "left", 3, 0)
}

func TestParentEnds(t *testing.T) {
	var c counted
	s := lazycontext.NewShared(c.derive)
	defer s.Close()
	parent, cancel := context.WithCancel(t.Context())
	one, leave := s.Derive(parent)
	cancel()
	<-one.Done()
	if late, leave := s.Derive(parent); late.Err() == nil {
		t.Error("alive under a parent that has ended")
	} else {
		leave()
	}
	leave()
	c.must(t, "nothing is kept of a parent that has ended", 1, 0)
}

// wrapped is a context that cannot be compared.
type wrapped struct {
	context.Context
	_ []int
}

func TestContextsThatCannotBeCompared(t *testing.T) {
	var c counted
	s := lazycontext.NewShared(c.derive)
	for range 2 {
		_, leave := s.Derive(wrapped{Context: t.Context()})
		leave()
	}
	c.must(t, "each has its own", 2, 0)
}

func TestDeriveAfterClose(t *testing.T) {
	var c counted
	s := lazycontext.NewShared(c.derive)
	s.Close()
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx, leave := s.Derive(parent)
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	leave()
	c.must(t, "left", 1, 0)
}

// One user that is released twice must not end what others have.
func TestReleaseTwice(t *testing.T) {
	var c counted
	s := lazycontext.NewShared(c.derive)
	defer s.Close()
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	one, other := lazycontext.New(parent, s.Derive), lazycontext.New(parent, s.Derive)
	one.Done()
	other.Done()
	one.Release()
	one.Release()
	_, leave := s.Derive(context.WithValue(parent, key{}, 1))
	defer leave()
	if err := other.Err(); err != nil {
		t.Errorf("ended with the other one: %v", err)
	}
	other.Release()
	c.must(t, "both are released", 2, 1)
}

// Many goroutines under parents that come, end and go: nothing is left, neither
// contexts nor goroutines, which would keep the bubble from ending.
func TestSharedByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counted
		s := lazycontext.NewShared(c.derive)
		var all sync.WaitGroup
		for g := range 8 {
			parent, cancel := context.WithTimeout(context.Background(), time.Duration(g+1)*time.Millisecond)
			defer cancel()
			for range 4 {
				all.Go(func() {
					for parent.Err() == nil {
						ctx, leave := s.Derive(parent)
						if err := ctx.Err(); err != nil && !errors.Is(parent.Err(), context.DeadlineExceeded) {
							t.Errorf("ended under a parent that lives: %v", err)
						}
						time.Sleep(100 * time.Microsecond)
						leave()
					}
				})
			}
		}
		all.Wait()
		s.Close()
		if open := c.open.Load(); open != 0 {
			t.Errorf("%d contexts are left", open)
		}
	})
}
