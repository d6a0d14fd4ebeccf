package keeper

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// climb asks the ladder every millisecond, and returns when it told and killed.
func climb(l *ladder, until time.Duration) (told, killed time.Duration) {
	for now := time.Duration(1); now <= until; now += ms {
		switch l.due(now) {
		case stepTell:
			told = now.Round(ms)
		case stepKill:
			killed = now.Round(ms)
		}
	}
	return told, killed
}

func TestLadder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		ladder       ladder
		told, killed time.Duration
	}{
		{"no deadline", ladder{}, 0, 0},
		{"deadline", ladder{deadline: 50 * ms, notice: 20 * ms}, 30 * ms, 50 * ms},
		{"no time for a notice", ladder{deadline: 20 * ms, notice: 50 * ms}, 1, 20 * ms},
		{"paused", ladder{deadline: 50 * ms, notice: 20 * ms, paused: true}, 0, 0},
		{"told", ladder{told: true, killAt: 40 * ms}, 0, 40 * ms},
		{"told and paused", ladder{told: true, killAt: 40 * ms, deadline: 10 * ms, paused: true}, 0, 40 * ms},
		{"deadline within the grace", ladder{told: true, killAt: 80 * ms, deadline: 50 * ms, notice: 20 * ms}, 0, 50 * ms},
		{"killed", ladder{killed: true, deadline: 50 * ms}, 0, 0},
	} {
		told, killed := climb(&c.ladder, 100*ms)
		if told != c.told.Round(ms) || killed != c.killed {
			t.Errorf("%s: told at %s, killed at %s, want %s and %s", c.name, told, killed, c.told, c.killed)
		}
	}
}

// TestLadderNext: a keeper that sleeps until next misses no step.
func TestLadderNext(t *testing.T) {
	t.Parallel()
	for _, l := range []ladder{
		{deadline: 50 * ms, notice: 20 * ms},
		{told: true, killAt: 40 * ms},
		{},
		{deadline: 50 * ms, notice: 20 * ms, killAt: 10 * ms},
		{deadline: 50 * ms, paused: true},
	} {
		awake := l
		told, killed := climb(&awake, 100*ms)
		var steps []time.Duration
		for now := l.next(); now != 0; now = l.next() {
			if l.due(now) == stepNone {
				t.Fatalf("%+v: woken at %s for nothing", l, now)
			}
			steps = append(steps, now)
		}
		want := 0
		for _, at := range []time.Duration{told, killed} {
			if at != 0 {
				want++
			}
		}
		if len(steps) != want {
			t.Errorf("steps at %s, want %d", steps, want)
		}
	}
}

func TestLadderGraceOnlyShortens(t *testing.T) {
	t.Parallel()
	l := ladder{deadline: 500 * ms, notice: 100 * ms}
	l.tell(100*ms, 200*ms)
	l.tell(110*ms, 900*ms)
	if l.next() != 300*ms {
		t.Errorf("killed at %s, want 300ms", l.next())
	}
	l.tell(150*ms, 0)
	if l.due(150*ms) != stepKill {
		t.Error("a stop without grace does not kill")
	}
}

// TestLadderRenewed: a renewal moves the deadline of a command that was not
// yet told.
func TestLadderRenewed(t *testing.T) {
	t.Parallel()
	l := ladder{deadline: 50 * ms, notice: 20 * ms}
	if l.due(20*ms) != stepNone || l.overdue(20*ms) {
		t.Error("a step before its time")
	}
	l.deadline = 150 * ms
	if l.due(60*ms) != stepNone || l.overdue(60*ms) {
		t.Error("a step although the lease was renewed")
	}
	if l.due(130*ms) != stepTell || !l.overdue(130*ms) {
		t.Error("no step at the end of the new lease")
	}
}
