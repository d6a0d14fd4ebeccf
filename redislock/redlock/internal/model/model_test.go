package model

import (
	"os"
	"testing"
)

// full reports whether this is the conformance run, which has minutes.
func full() bool { return os.Getenv("FENCEHOLD_CONFORMANCE") == "full" }

// explore searches and reports how far it came.
func explore(t *testing.T, c Config) Result {
	t.Helper()
	r := c.Search()
	t.Logf("%d states, %d transitions, depth %d, exhausted=%v", r.States, r.Transitions, r.Depth, r.Exhausted)
	for i, step := range r.Trace {
		t.Logf("%3d %s", i+1, step)
	}
	return r
}

// expectSafe wants nothing broken, and nothing left to look at unless the
// search is bounded.
func expectSafe(t *testing.T, c Config) {
	t.Helper()
	r := explore(t, c)
	if r.Broken != 0 || !r.Exhausted && c.States == 0 {
		t.Errorf("broken: %s, exhausted: %v", r.Broken, r.Exhausted)
	}
}

// Nothing breaks, and nothing is left to look at.
func TestSafe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"two clients":           {Nodes: 3, Clients: 2, Rounds: 1, Proposals: 3, Counters: 3},
		"two that renew":        {Nodes: 3, Clients: 2, Rounds: 1, Proposals: 3, Counters: 2, Renewals: true},
		"three clients":         {Nodes: 3, Clients: 3, Rounds: 1, Proposals: 1, Counters: 1},
		"hand-overs":            {Nodes: 3, Clients: 2, Rounds: 1, Proposals: 1, Counters: 1, HandOvers: 2},
		"each request twice":    {Nodes: 3, Clients: 2, Rounds: 1, Twice: true},
		"forgets and joins":     {Nodes: 3, Clients: 2, Rounds: 1, Proposals: 2, Counters: 1, Forget: Joins},
		"forget twice and join": {Nodes: 3, Clients: 2, Rounds: 1, Forget: Joins, More: 1},
		"forgets what others show": {
			Nodes: 3, Clients: 2, Rounds: 1, Proposals: 1, Counters: 1, Renewals: true, Forget: Spare,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectSafe(t, c)
		})
	}
}

// The same in configurations that take minutes, for the conformance run. Those
// with a limit are no proof beyond it.
func TestSafeLarger(t *testing.T) {
	for name, c := range larger() {
		t.Run(name, func(t *testing.T) { expectSafe(t, c) })
	}
}

// larger returns the configurations of the conformance run.
func larger() map[string]Config {
	if !full() {
		return nil
	}
	return map[string]Config{
		"three clients":      {Nodes: 3, Clients: 3, Rounds: 1, Proposals: 2, Counters: 2},
		"three that renew":   {Nodes: 3, Clients: 3, Rounds: 1, Proposals: 1, Counters: 1, Renewals: true},
		"each request twice": {Nodes: 3, Clients: 2, Rounds: 1, Proposals: 2, Counters: 1, Twice: true},
		"each twice, renewals, a hand-over, bounded": {
			Nodes: 3, Clients: 2, Rounds: 1, Proposals: 1, HandOvers: 1, Twice: true, Renewals: true, States: 4_000_000,
		},
		"each twice, P2 without the owner": {
			Nodes: 3, Clients: 2, Rounds: 1, Proposals: 1, Twice: true, Unsafe: NoOwner,
		},
		"two rounds": {Nodes: 3, Clients: 2, Rounds: 2, Proposals: 1},
		"two rounds, hand-overs, bounded": {
			Nodes: 3, Clients: 2, Rounds: 2, Proposals: 1, Counters: 1, HandOvers: 2, Renewals: true, States: 4_000_000,
		},
		"five nodes":                   {Nodes: 5, Clients: 2, Rounds: 1, Proposals: 2, Counters: 1},
		"five, two forget and join":    {Nodes: 5, Clients: 2, Rounds: 1, Forget: Joins, More: 1},
		"five, three clients, bounded": {Nodes: 5, Clients: 3, Rounds: 1, Proposals: 1, Counters: 1, States: 3_000_000},
		"five, each request twice, bounded": {
			Nodes: 5, Clients: 2, Rounds: 1, Proposals: 1, Counters: 1, Twice: true, States: 3_000_000,
		},
		"forgets and joins, each request twice, bounded": {
			Nodes: 3, Clients: 2, Rounds: 1, Proposals: 1, Twice: true, Forget: Joins, States: 4_000_000,
		},
	}
}

// The protocol with one rule left out is not safe.
func TestUnsafe(t *testing.T) {
	t.Parallel()
	plain := Config{Nodes: 3, Clients: 2, Rounds: 1, Proposals: 2, Counters: 1}
	twice := Config{Nodes: 3, Clients: 2, Rounds: 1, Twice: true}
	five := Config{Nodes: 5, Clients: 2, Rounds: 1, Proposals: 1, Counters: 1}
	votes, joins, spare := plain, plain, plain
	votes.Forget, joins.Forget = Votes, Joins
	spare.Forget, spare.Renewals = Spare, true
	two := Config{Nodes: 5, Clients: 2, Rounds: 1, Forget: Joins, More: 1}
	for name, test := range map[string]struct {
		c      Config
		unsafe Variant
	}{
		"one phase":                             {plain, OnePhase},
		"largest answer of a minority, 3 nodes": {plain, MinorityTells},
		"largest answer of a minority, 5 nodes": {five, MinorityTells},
		"P2 without a check":                    {plain, NoOwner | NoCompare},
		"P2 without h = r, P1 twice":            {twice, NoCompare},
		"forgotten, and votes":                  {votes, 0},
		"joins empty":                           {joins, JoinsEmpty},
		"joins during an attempt":               {joins, JoinsEarly},
		"joins by another that forgot":          {two, JoinsByAny},
		"mend does not raise h, one forgets":    {spare, MendSilent},
		"renewal does not raise h, one forgets": {spare, RenewSilent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.c.Unsafe, test.c.States = test.unsafe, 3_000_000
			if r := explore(t, test.c); r.Broken == 0 {
				t.Error("nothing is broken; the rule seems not to be needed")
			}
		})
	}
}

// Rules that tokens do not need here, as long as no node forgets: all states
// were searched without them. That P2 compares the holder is for exclusion: a
// node whose value has ended must not count. With requests executed twice, the
// conformance run has it.
func TestNotNeeded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"P2 without the owner":        {Nodes: 3, Clients: 2, Rounds: 1, Proposals: 2, Counters: 1, Unsafe: NoOwner},
		"P2 without h = r, once each": {Nodes: 3, Clients: 2, Rounds: 1, Proposals: 2, Counters: 1, Unsafe: NoCompare},
		"mend and renewal leave h": {
			Nodes: 3, Clients: 2, Rounds: 1, Proposals: 2, Counters: 1, Renewals: true, Unsafe: MendSilent | RenewSilent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectSafe(t, c)
		})
	}
}
