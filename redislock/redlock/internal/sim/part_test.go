package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// still returns a world of three nodes in which nothing happens by itself, and
// all clocks are right.
func still() *World {
	w := base("still", Everything, func(*Class) {}).world(rand.New(rand.NewPCG(1, 1)), 3)
	for _, n := range w.nodes {
		n.clock = clock{rate: 1}
	}
	for _, c := range w.clients {
		c.clock = clock{rate: 1}
	}
	w.heap = nil
	return w
}

func TestScheduleKeepsOrder(t *testing.T) {
	t.Parallel()
	var s schedule
	var got []int
	for i, at := range []micros{30, 10, 20, 10} {
		s.plan(at, func() { got = append(got, i) })
	}
	for s.step() {
	}
	if want := []int{1, 3, 2, 0}; !slices.Equal(got, want) || s.now != 30 {
		t.Errorf("order %v at %d, want %v at 30", got, s.now, want)
	}
}

func TestValidity(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		left int64 // ms
		want micros
	}{
		{10_000, 9_698 * millisecond},
		{2_000, 1_938 * millisecond},
		{100, 87 * millisecond},
		{12, -120},
	} {
		vote := quorum.Vote{Kind: quorum.Yes, Left: test.left}
		if got := still().validity([]quorum.Vote{vote, vote, {}}); got != test.want {
			t.Errorf("%d ms left: %d µs, want %d", test.left, got, test.want)
		}
	}
}

func TestPausedClientActsLater(t *testing.T) {
	t.Parallel()
	w := still()
	c := w.clients[0]
	c.asleep = 50
	var at micros
	c.plan(10, func() { at = w.now })
	for w.step() {
	}
	if at != 50 {
		t.Errorf("acted at %d, want 50", at)
	}
}

func TestOverlapIsSeen(t *testing.T) {
	t.Parallel()
	w := still()
	w.clients[0].lease = &lease{end: 100}
	w.now = 99
	w.overlapping(w.clients[1])
	w.now = 100
	w.overlapping(w.clients[1])
	if w.Overlaps != 1 {
		t.Errorf("%d overlaps, want one before the end and none at it", w.Overlaps)
	}
}

func TestTokensAreCompared(t *testing.T) {
	t.Parallel()
	w := still()
	for _, g := range []struct{ floor, token int64 }{{0, 5}, {5, 6}, {5, 6}, {6, 4}} {
		w.granted(w.clients[0], g.floor, g.token)
	}
	if w.Duplicates != 1 || w.Falls != 1 {
		t.Errorf("%d duplicates and %d falls, want one each", w.Duplicates, w.Falls)
	}
}

// A step forward is in contract while others keep the lease, and while nobody
// depends on the node.
func TestToSpare(t *testing.T) {
	t.Parallel()
	const holder = 7
	for name, test := range map[string]struct {
		keeps  []bool
		change func(*client)
		want   bool
	}{
		"kept by all":        {[]bool{true, true, true}, func(*client) {}, true},
		"bare majority":      {[]bool{true, true, false}, func(*client) {}, false},
		"not kept here":      {[]bool{false, true, true}, func(*client) {}, true},
		"renewal under way":  {[]bool{true, true, true}, func(c *client) { c.lease.renewing = true }, false},
		"attempt under way":  {[]bool{true, true, true}, underWay, false},
		"others end earlier": {[]bool{true, true, true}, func(c *client) { c.lease.end *= 2 }, false},
	} {
		w := still()
		c := w.clients[0]
		c.lease = &lease{holder: holder, end: second}
		for k, n := range w.nodes {
			if test.keeps[k] {
				n.set(holder, 1)
				n.until = int64(second / millisecond)
			}
		}
		test.change(c)
		if got := w.toSpare(w.nodes[0]); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// underWay makes an attempt of a client's lease.
func underWay(c *client) {
	c.attempt, c.lease = &attempt{holder: c.lease.holder}, nil
}

// A node without memory does not vote before the longest TTL has passed, and a
// marker meant for an earlier time is refused.
func TestForgottenNodeJoins(t *testing.T) {
	t.Parallel()
	w := still()
	w.now = second
	n := w.nodes[0]
	n.forget()
	joining, due := n.notice()
	if vote := n.acquire(1, 5); due || vote.Kind != quorum.Abstains {
		t.Errorf("due %v, vote %v: a node must not vote that has just forgotten", due, vote)
	}
	n.enrol(joining, 9)
	w.now += w.TTL
	n.enrol(joining-1, 8)
	if n.marked {
		t.Fatal("a marker was set too early, or for another join time")
	}
	n.enrol(joining, 9)
	if vote := n.acquire(1, 5); vote.Kind != quorum.Yes || vote.Number != 10 {
		t.Errorf("vote %+v, want number 10", vote)
	}
}
