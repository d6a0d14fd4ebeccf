package lineup_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencehold/fencehold/internal/lineup"
)

// ready reports whether a place is at the front. Under a context that is over,
// Wait may answer either way then, so it is asked often.
func ready(p *lineup.Place) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if p.Wait(ctx) == nil {
			return true
		}
	}
	return false
}

func TestOrder(t *testing.T) {
	var l lineup.Lineup
	a, b, c := l.Join("x"), l.Join("x"), l.Join("x")
	other := l.Join("y")
	if !ready(a) || !ready(other) || ready(b) || ready(c) {
		t.Fatal("only the first of each line is at the front")
	}
	l.Leave(a)
	if !ready(b) || ready(c) {
		t.Fatal("the second moves up, the third does not")
	}
	l.Leave(b)
	l.Leave(c)
	if d := l.Join("x"); !ready(d) {
		t.Fatal("the line is empty again")
	}
}

// Whoever gives up in the middle does not hold up those behind, nor call them.
func TestLeaveFromTheMiddle(t *testing.T) {
	var l lineup.Lineup
	a, b, c := l.Join("x"), l.Join("x"), l.Join("x")
	l.Leave(b)
	if ready(c) {
		t.Fatal("called while the first is still there")
	}
	l.Leave(a)
	if !ready(c) {
		t.Fatal("not called although nobody is before it")
	}
}

// Called up and giving up at the same moment: the call is passed on.
func TestCalledWhileGivingUp(t *testing.T) {
	var l lineup.Lineup
	a, b, c := l.Join("x"), l.Join("x"), l.Join("x")
	l.Leave(a) // calls b, which does not look
	l.Leave(b)
	if !ready(c) {
		t.Fatal("the call was lost with the one that gave up")
	}
}

func TestWaitSaysWhyTheContextEnded(t *testing.T) {
	var l lineup.Lineup
	l.Join("x")
	why := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if err := l.Join("x").Wait(ctx); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
}
