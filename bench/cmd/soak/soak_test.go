//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(clientVariable); url != "" {
		os.Exit(clientMain(url))
	}
	os.Exit(m.Run())
}

// TestSoak is ten seconds of what the command does for as long as one likes.
func TestSoak(t *testing.T) {
	found := soak(t, settings{duration: 10 * time.Second, seed: uint64(time.Now().UnixNano() % 1_000_000), clients: 4})
	t.Log(found)
	if len(found.violations) > 0 {
		t.Error("there were violations")
	}
	if found.tally.grants < 100 {
		t.Errorf("%d grants: nothing was tested", found.tally.grants)
	}
}

// TestLedger tells a ledger stories, of which some must be found wrong.
func TestLedger(t *testing.T) {
	type told struct {
		process int
		line    string
	}
	first, second := told{1, "g 0 a 5 100"}, told{2, "g 0 a 6 200"}
	for name, c := range map[string]struct {
		story []told
		want  string // in the violation; empty: there is none
	}{
		"one after the other": {[]told{first, {1, "u 0 a 5 150"}, {1, "e 0 a 5 160"}, second}, ""},
		"another lock":        {[]told{first, {2, "g 0 b 4 110"}, {1, "u 0 a 5 150"}}, ""},
		"overlap":             {[]told{first, {1, "u 0 a 5 200"}, second}, "at once"},
		"overlap, told late":  {[]told{second, first, {1, "u 0 a 5 250"}}, "at once"},
		"overlap inside one": {[]told{
			first, {1, "u 0 a 5 900"}, second, {2, "e 0 a 6 300"}, {3, "g 0 a 7 400"},
		}, "{who:{process:3"},
		"token repeated": {[]told{first, {1, "e 0 a 5 110"}, {2, "g 0 a 5 200"}}, "does not grow"},
		"token falls":    {[]told{first, {1, "e 0 a 5 110"}, {2, "g 0 a 4 200"}}, "does not grow"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			for _, e := range c.story {
				l.record(e.process, mustParse(t, e.line), time.Now())
			}
			found := strings.Join(l.check(), "\n")
			if c.want == "" && found != "" || !strings.Contains(found, c.want) {
				t.Errorf("found %q; want %q", found, c.want)
			}
		})
	}
}

// TestGuard tells of a wait, and whether it is one in vain a TTL and a second
// later.
func TestGuard(t *testing.T) {
	start := time.Now()
	for name, c := range map[string]struct {
		then  func(*ledger, *guard, time.Time)
		stuck bool
	}{
		"nobody has the lock": {func(*ledger, *guard, time.Time) {}, true},
		"somebody has it": {func(l *ledger, _ *guard, now time.Time) {
			l.record(2, event{kind: granted, name: "a"}, now)
		}, false},
		"somebody had it until now": {func(l *ledger, _ *guard, now time.Time) {
			l.record(2, event{kind: granted, name: "a"}, now)
			l.record(2, event{kind: ended, name: "a"}, now)
		}, false},
		"the holder of another died": {func(l *ledger, _ *guard, now time.Time) {
			l.record(2, event{kind: granted, name: "b"}, now)
			l.gone(2, now)
		}, true},
		"the holder died just now": {func(l *ledger, _ *guard, now time.Time) {
			l.record(2, event{kind: granted, name: "a"}, now)
			l.gone(2, now)
		}, false},
		"the waiter died":    {func(l *ledger, _ *guard, now time.Time) { l.gone(1, now) }, false},
		"the server is down": {func(_ *ledger, g *guard, _ time.Time) { g.serverDown() }, false},
		"it was down":        {func(_ *ledger, g *guard, now time.Time) { g.setUp(now) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			g := &guard{books: l, up: start}
			l.record(1, event{kind: waits, name: "a"}, start)
			now := start.Add(stuckTime + time.Millisecond)
			c.then(l, g, now)
			if g.examine(now); (len(g.found) > 0) != c.stuck {
				t.Errorf("found %q; want one: %t", g.found, c.stuck)
			}
		})
	}
}

func mustParse(t *testing.T, line string) event {
	t.Helper()
	e, err := parseEvent(line)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
