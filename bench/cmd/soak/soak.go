//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// The locks that processes contend for.
const (
	lockTTL   = 2 * time.Second
	names     = 3
	stuckTime = lockTTL + time.Second // longer nobody may wait for a lock that nobody has
)

func lockName(i int) string { return fmt.Sprintf("soak-%d", i) }

// settings are what the flags say.
type settings struct {
	duration time.Duration
	seed     uint64
	clients  int
}

// result is what a run has found.
type result struct {
	settings
	tally      tally
	faults     map[string]int
	started    int // client processes
	violations []string
}

// String is the summary.
func (r result) String() string {
	var b strings.Builder
	for _, v := range r.violations {
		fmt.Fprintln(&b, "VIOLATION:", v)
	}
	fmt.Fprintf(&b, "soak: seed %d, %v: %d grants to %d processes, %d lost, %d waits failed; faults: ",
		r.seed, r.duration, r.tally.grants, r.started, r.tally.lost, r.tally.failed)
	for _, f := range faults {
		fmt.Fprintf(&b, "%s %d, ", f.name, r.faults[f.name])
	}
	fmt.Fprintf(&b, "%d violations", len(r.violations))
	return b.String()
}

// soak runs everything, on a server that has written to disk what it answered.
func soak(tb testcluster.TB, s settings) result {
	server := testcluster.StartRedis(tb,
		testcluster.Config("appendonly", "yes"), testcluster.Config("appendfsync", "always"))
	books := newLedger()
	fleet := newFleet(tb, server.URL(), books)
	for range s.clients {
		fleet.start()
	}
	guard := watch(books)
	n := newNemesis(s.seed, server, fleet, guard)
	n.rage(time.Now().Add(s.duration))
	// In the calm after the storm, a wait that is stuck cannot hide behind the
	// next fault.
	time.Sleep(stuckTime + time.Second)
	violations := guard.stop()
	violations = append(violations, fleet.stop()...)
	violations = append(violations, books.check()...)
	violations = append(violations, leftBehind(server)...)
	return result{
		settings: s, tally: books.tally(), faults: n.made, started: fleet.started, violations: violations,
	}
}
