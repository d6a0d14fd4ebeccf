package redlock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// How long a node is left alone that could not be helped, and how much longer than
// it takes one is that waits for its admission.
const (
	tendAgain = time.Second
	tendSlack = 20 * time.Millisecond
)

// tend looks after a node that does not vote, in the background: a call while
// somebody does, or before it is of use, does nothing. It is not cut short when the
// backend is closed: a client that lives for one lock has to let a node join, too.
func (m *members) tend(s *seat) {
	if time.Now().UnixNano() < s.next.Load() || !s.tending.CompareAndSwap(false, true) {
		return
	}
	m.work.Go(func() {
		defer s.tending.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), 3*m.limit)
		defer cancel()
		s.next.Store(time.Now().Add(m.help(ctx, s)).UnixNano())
	})
}

// help does the next step towards a vote of the node, and returns how long it can
// be left alone.
func (m *members) help(ctx context.Context, s *seat) time.Duration {
	limit, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	c := m.takeUntil(limit, func(c census) bool { return c.enoughFor(s) })
	if !c.settled() {
		return tendAgain
	}
	marker, _ := c.common()
	if parseTitle(marker).admits(m.claim()) != nil {
		m.known.Store(nil) // the next attempt learns why
		return tendAgain
	}
	m.known.Store(&marker)
	switch mine := c.of(s); {
	case mine.err != nil || mine.marker == marker:
		return tendAgain
	case mine.marker == "":
		return m.letIn(ctx, mine, marker)
	case parseTitle(mine.marker).nodes == parseTitle(marker).nodes:
		// It has forgotten nothing: founders had different limits.
		_, _ = m.retitle(ctx, mine, marker)
	}
	return tendAgain
}

// enoughFor reports whether the next step for a node is clear without the answers
// that are missing.
func (c census) enoughFor(s *seat) bool {
	mine := c.of(s)
	if mine.err != nil || !c.settled() {
		return false
	}
	marker, _ := c.common()
	if mine.marker != "" || !mine.joining() || mine.since() < parseTitle(marker).maxTTL {
		return true
	}
	_, known := c.counterBeside(s, marker)
	return known
}

// letIn lets a node vote that has been joining for the longest TTL, or sees to it
// that it is joining.
func (m *members) letIn(ctx context.Context, s standing, marker string) time.Duration {
	wait := parseTitle(marker).maxTTL
	if !s.joining() {
		return m.begin(ctx, s, wait)
	}
	if left := wait - s.since(); left > 0 {
		return left + tendSlack
	}
	// Asked for only now: until the time was over, an attempt that had the vote of this
	// node may have been decided after the others answered.
	limit, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	c := m.takeUntil(limit, func(c census) bool { return c.enoughFor(s.seat) })
	counter, ok := c.counterBeside(s.seat, marker)
	if !ok {
		return tendAgain
	}
	answer, err := m.admit(ctx, s.seat, marker, counter, wait)
	if left, early := strings.CutPrefix(answer, "W "); err == nil && early {
		return micros(left) + tendSlack
	}
	return tendAgain
}

// since is for how long the node has been joining by its clock.
func (s standing) since() time.Duration { return time.Duration(s.now-s.joined) * time.Microsecond }

// begin writes down that the node is joining, and returns how long it has to wait.
func (m *members) begin(ctx context.Context, s standing, wait time.Duration) time.Duration {
	answer, err := m.run(ctx, s.seat, joinScript, []string{m.keys.marker, m.keys.joined})
	parts := strings.Fields(answer)
	if err != nil || len(parts) != 3 || parts[0] != "J" {
		return tendAgain
	}
	return wait - (micros(parts[2]) - micros(parts[1])) + tendSlack
}

// admit lets a node vote that has been joining for wait, with a counter that is not
// below that of any token.
func (m *members) admit(
	ctx context.Context, s *seat, marker string, counter int64, wait time.Duration,
) (string, error) {
	return m.run(ctx, s, admitScript, []string{m.keys.marker, m.keys.joined, m.keys.counter},
		marker, fmt.Sprint(counter), fmt.Sprint(wait.Microseconds()))
}

// micros reads a number of µs, 0 if it is none.
func micros(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * time.Microsecond
}
