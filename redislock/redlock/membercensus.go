package redlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// standing is what one node said of its membership.
type standing struct {
	seat    *seat
	err     error         // nothing else is known then
	now     int64         // the node's clock, in µs
	ahead   time.Duration // of our clock
	within  time.Duration // how far that can be off
	joined  int64         // since when it has been joining by that clock; 0: it is not
	counter int64         // the last number that it gave out
	marker  string        // empty: none
}

// census is what the nodes said, in their order. Those that have not answered
// have an error.
type census []standing

// take asks all nodes and waits for them as for any request.
func (m *members) take(ctx context.Context) census {
	ctx, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	return m.takeUntil(ctx, func(census) bool { return false })
}

// takeUntil asks all nodes, and ends as soon as enough is true.
func (m *members) takeUntil(ctx context.Context, enough func(census) bool) census {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan standing, len(m.seats))
	c := make(census, len(m.seats))
	for i, s := range m.seats {
		c[i] = standing{seat: s, err: errSilent}
		m.work.Go(func() { answers <- m.ask(ctx, s) })
	}
	for range m.seats {
		select {
		case a := <-answers:
			c[a.seat.index] = a
		case <-ctx.Done():
			return c
		}
		if enough(c) {
			return c
		}
	}
	return c
}

// ask reads the standing of one node.
func (m *members) ask(ctx context.Context, s *seat) standing {
	sent := time.Now()
	answer, err := m.run(ctx, s, stateScript, []string{m.keys.marker, m.keys.joined, m.keys.counter})
	if err != nil {
		return standing{seat: s, err: err}
	}
	a := parseStanding(s, answer)
	a.within = time.Since(sent) / 2
	a.ahead = time.UnixMicro(a.now).Sub(sent.Add(a.within))
	return a
}

// parseStanding reads "NOW JOINED COUNTER MARKER".
func parseStanding(s *seat, answer string) standing {
	parts := strings.SplitN(answer, " ", 4)
	if len(parts) != 4 {
		return standing{seat: s, err: fmt.Errorf("answered %q", answer)}
	}
	a := standing{seat: s, marker: parts[3]}
	if a.marker == "-" {
		a.marker = ""
	}
	// What cannot be read is 0, as what is not there.
	a.now, _ = strconv.ParseInt(parts[0], 10, 64)
	a.joined, _ = strconv.ParseInt(parts[1], 10, 64)
	a.counter, _ = strconv.ParseInt(parts[2], 10, 64)
	return a
}

// common is the marker that most nodes have, and how many.
func (c census) common() (marker string, count int) {
	counts := map[string]int{}
	for _, s := range c {
		if s.marker != "" {
			counts[s.marker]++
		}
	}
	for m, n := range counts {
		if n > count || n == count && m < marker {
			marker, count = m, n
		}
	}
	return marker, count
}

// settled reports whether a majority has the same marker.
func (c census) settled() bool {
	_, count := c.common()
	return count >= quorum.Majority(len(c))
}

// answered returns the standings that are known.
func (c census) answered() census {
	return slices.DeleteFunc(slices.Clone(c), func(s standing) bool { return s.err != nil })
}

// having returns the standings with that marker; an empty one is that of nodes
// that have answered and have none.
func (c census) having(marker string) census {
	return slices.DeleteFunc(c.answered(), func(s standing) bool { return s.marker != marker })
}

// of returns the standing of a node.
func (c census) of(s *seat) standing { return c[s.index] }

// counterBeside returns the largest counter of the nodes with the marker besides s,
// and false if these are too few: each majority must have one of them.
func (c census) counterBeside(s *seat, marker string) (int64, bool) {
	others := slices.DeleteFunc(c.having(marker), func(other standing) bool { return other.seat == s })
	if len(others) < quorum.Majority(len(c)) {
		return 0, false
	}
	return others.counter(), true
}

// counter is the largest of all.
func (c census) counter() int64 {
	if len(c) == 0 {
		return 0
	}
	return slices.MaxFunc(c, func(a, b standing) int { return cmp.Compare(a.counter, b.counter) }).counter
}

// failures are what went wrong, node by node.
func (c census) failures() (errs []error) {
	for _, s := range c {
		if s.err != nil {
			errs = append(errs, saidBy(s.seat.name, s.err))
		}
	}
	return errs
}
