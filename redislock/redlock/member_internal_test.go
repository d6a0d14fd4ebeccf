package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/dial"
	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// startNodes starts servers that keep nothing on disk: a restart empties them.
func startNodes(t *testing.T, n int) []*testcluster.Redis {
	t.Helper()
	nodes := make([]*testcluster.Redis, n)
	for i := range nodes {
		nodes[i] = testcluster.StartRedis(t)
	}
	return nodes
}

// newSeat is the seat of a server, connected to when it is first asked.
func newSeat(t *testing.T, i int, r *testcluster.Redis) *seat {
	t.Helper()
	u, err := redisurl.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var client rueidis.Client
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if client != nil {
			client.Close()
		}
	})
	return &seat{index: i, name: r.Addr(), conn: func(ctx context.Context) (redislock.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if client == nil {
			fresh, err := dial.Client(ctx, u)
			if err != nil {
				return nil, err
			}
			client = fresh
		}
		return redislock.NewRueidisConn(client), nil
	}}
}

// newMembership is the membership of a client of its own.
func newMembership(t *testing.T, maxTTL time.Duration, nodes ...*testcluster.Redis) *members {
	t.Helper()
	seats := make([]*seat, len(nodes))
	for i, r := range nodes {
		seats[i] = newSeat(t, i, r)
	}
	m := newMembers(seats, title{len(nodes), maxTTL}, memberKeysOf("lock:"), time.Second)
	t.Cleanup(m.work.Wait)
	return m
}

func mustMarker(t *testing.T, m *members, want string) {
	t.Helper()
	if marker, err := m.marker(t.Context()); err != nil || marker != want {
		t.Fatalf("marker %q, %v; want %q", marker, err, want)
	}
}

// markers are those that the servers have, and - for none.
func markers(nodes []*testcluster.Redis) string {
	var all []string
	for _, r := range nodes {
		marker := r.Do("GET", "lock:fh!m")
		if marker == "" {
			marker = "-"
		}
		all = append(all, marker)
	}
	return strings.Join(all, ", ")
}

// until polls for what has to come about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestFounding: the first client marks all servers, and others find the set.
func TestFounding(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	mustMarker(t, newMembership(t, time.Minute, nodes...), "3 60000")
	if got := markers(nodes); got != "3 60000, 3 60000, 3 60000" {
		t.Errorf("markers %s", got)
	}
	mustMarker(t, newMembership(t, time.Second, nodes...), "3 60000")
	nodes[1].Kill()
	mustMarker(t, newMembership(t, time.Second, nodes...), "3 60000")
}

// TestFoundersAtTheSameMoment: whoever is first, all agree.
func TestFoundersAtTheSameMoment(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 5)
	const founders = 8
	got, errs := make([]string, founders), make([]error, founders)
	var all sync.WaitGroup
	for i := range founders {
		m := newMembership(t, 30*time.Second*time.Duration(1+i%2), nodes...)
		all.Go(func() { got[i], errs[i] = m.marker(t.Context()) })
	}
	all.Wait()
	want := "5 60000"
	if strings.Count(markers(nodes), "5 30000") >= 3 {
		want = "5 30000"
	}
	for i := range founders {
		refused := want == "5 30000" && i%2 == 1 && errors.Is(errs[i], fencehold.ErrInvalid)
		if errs[i] != nil && !refused || errs[i] == nil && got[i] != want {
			t.Errorf("founder %d: %q, %v; the markers are %s", i, got[i], errs[i], markers(nodes))
		}
	}
}

// TestFoundersWithDifferentLimits: the longer one is that of the set.
func TestFoundersWithDifferentLimits(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 5)
	for i, marker := range []string{"5 60000", "5 60000", "5 30000", "5 30000", "5 1000"} {
		nodes[i].Do("SET", "lock:fh!m", marker)
	}
	mustMarker(t, newMembership(t, time.Minute, nodes...), "5 60000")
	if got := markers(nodes); got != strings.Repeat("5 60000, ", 4)+"5 60000" {
		t.Errorf("markers %s", got)
	}
}

// TestPausedFounder: a server that was emptied after the founder has looked is not
// marked any more once two seconds have passed by its clock.
func TestPausedFounder(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Minute, nodes...)
	seen := m.take(t.Context())
	seen[1].now -= foundWithin.Microseconds() + 1
	seen[2].now += time.Minute.Microseconds()
	if _, err := m.found(t.Context(), seen); !errors.Is(err, fencehold.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if got := markers(nodes); got != "3 60000, -, -" {
		t.Errorf("markers %s, want that of the one that was seen just now", got)
	}
}

// TestSetThatCannotBeUsed: each is refused with what helps.
func TestSetThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	for _, c := range []struct {
		name    string
		markers [3]string // * is a server that is joining
		maxTTL  time.Duration
		kind    error
		says    string
	}{
		{
			"majority lost", [3]string{"3 60000", "", ""}, time.Second, fencehold.ErrUnavailable, "1 of 3 servers knows the set, " +
				"and it takes 2: " + nodes[1].Addr() + ", " + nodes[2].Addr() + " have lost",
		},
		{"all joining", [3]string{"*", "*", "*"}, time.Second, fencehold.ErrUnavailable, "fencehold redlock repair"},
		{"one joining", [3]string{"", "", "*"}, time.Second, fencehold.ErrUnavailable, "0 of 3 servers know the set"},
		{"larger set", [3]string{"5 60000", "5 60000", "5 60000"}, time.Second, fencehold.ErrInvalid, "names 3 servers, and the set has 5"},
		{"part of a set", [3]string{"5 60000", "", ""}, time.Second, fencehold.ErrInvalid, "names 3 servers, and the set has 5"},
		{"longer TTLs", [3]string{"3 1000", "3 1000", ""}, 2 * time.Second, fencehold.ErrInvalid, "name max_ttl=1s"},
	} {
		for i, r := range nodes {
			r.Do("FLUSHALL")
			switch marker := c.markers[i]; marker {
			case "":
			case "*":
				r.Do("SET", "lock:fh!j", "1")
			default:
				r.Do("SET", "lock:fh!m", marker)
			}
		}
		before := markers(nodes)
		_, err := newMembership(t, c.maxTTL, nodes...).marker(t.Context())
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) ||
			errors.Is(c.kind, fencehold.ErrUnavailable) && !strings.Contains(err.Error(), "redlock repair --force") {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.kind, c.says)
		}
		if got := markers(nodes); got != before {
			t.Errorf("%s: markers changed from %s to %s", c.name, before, got)
		}
	}
}

// TestTooFewServers: a set is not founded by some of its servers, and a minority
// does not answer for it.
func TestTooFewServers(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	nodes[2].Kill()
	_, err := newMembership(t, time.Second, nodes...).marker(t.Context())
	if !errors.Is(err, fencehold.ErrUnavailable) || !strings.Contains(err.Error(), "redlock repair") ||
		!strings.Contains(err.Error(), nodes[2].Addr()) {
		t.Errorf("new set with one server down: %v", err)
	}
	nodes[1].Kill()
	_, err = newMembership(t, time.Second, nodes...).marker(t.Context())
	if !errors.Is(err, fencehold.ErrUnavailable) || !strings.Contains(err.Error(), "1 of 3 servers answers, and it takes 2") {
		t.Errorf("one server of three: %v", err)
	}
	if got := nodes[0].Do("EXISTS", "lock:fh!m"); got != "0" {
		t.Errorf("a server was marked all the same")
	}
}

// TestJoining: a server that was emptied is let in after the longest TTL by its own
// clock, with a counter that is not below the others'.
func TestJoining(t *testing.T) {
	t.Parallel()
	const maxTTL = 1500 * time.Millisecond
	nodes := startNodes(t, 3)
	m := newMembership(t, maxTTL, nodes...)
	mustMarker(t, m, "3 1500")
	nodes[0].Do("SET", "lock:fh!h", "70")
	nodes[1].Do("SET", "lock:fh!h", "900")
	nodes[2].Do("FLUSHALL")
	m.tend(m.seats[2])
	until(t, "join time", func() bool { return nodes[2].Do("EXISTS", "lock:fh!j") == "1" })
	began := time.Now()
	until(t, "marker", func() bool {
		m.tend(m.seats[2])
		return nodes[2].Do("GET", "lock:fh!m") == "3 1500"
	})
	if d := time.Since(began); d < maxTTL-100*time.Millisecond {
		t.Errorf("let in after %v, want %v", d, maxTTL)
	}
	if h := nodes[2].Do("GET", "lock:fh!h"); h != "900" {
		t.Errorf("counter %s, want that of the others", h)
	}
	if nodes[2].Do("EXISTS", "lock:fh!j") != "0" {
		t.Error("it is still joining")
	}
}

// TestJoiningTakesTheOthers: without a majority of the others nobody can know the
// counter.
func TestJoiningTakesTheOthers(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Second, nodes...)
	mustMarker(t, m, "3 1000")
	nodes[2].Do("FLUSHALL")
	nodes[2].Do("SET", "lock:fh!j", "1")
	nodes[1].Pause()
	if d := m.help(t.Context(), m.seats[2]); d != tendAgain || nodes[2].Do("EXISTS", "lock:fh!m") != "0" {
		t.Errorf("let in beside one of two others")
	}
	nodes[1].Resume()
	until(t, "marker", func() bool {
		m.help(t.Context(), m.seats[2])
		return nodes[2].Do("EXISTS", "lock:fh!m") == "1"
	})
}

// TestEmptiedWhileJoining: the time begins anew.
func TestEmptiedWhileJoining(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Second, nodes...)
	mustMarker(t, m, "3 1000")
	nodes[0].Do("FLUSHALL")
	m.help(t.Context(), m.seats[0])
	first := nodes[0].Do("GET", "lock:fh!j")
	nodes[0].Restart()
	until(t, "second join time", func() bool {
		m.help(t.Context(), m.seats[0])
		return nodes[0].Do("EXISTS", "lock:fh!j") == "1"
	})
	if second := nodes[0].Do("GET", "lock:fh!j"); second <= first || nodes[0].Do("EXISTS", "lock:fh!m") != "0" {
		t.Errorf("joining since %s, before it since %s", second, first)
	}
	answer, err := m.admit(t.Context(), m.seats[0], "3 1000", 0, time.Second)
	if err != nil || !strings.HasPrefix(answer, "W ") {
		t.Errorf("admitted at once: %q, %v", answer, err)
	}
}

// TestServerOfAnotherSet: a server of another set is left alone.
func TestServerOfAnotherSet(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Second, nodes...)
	mustMarker(t, m, "3 1000")
	for marker, want := range map[string]string{"5 1000": "5 1000", "3 9000": "3 1000"} {
		nodes[2].Do("SET", "lock:fh!m", marker)
		m.help(t.Context(), m.seats[2])
		if got := nodes[2].Do("GET", "lock:fh!m"); got != want {
			t.Errorf("marker %q became %q, want %q", marker, got, want)
		}
	}
}

// TestCensusEndsEarly: a server that is frozen holds nobody up that knows the rest.
func TestCensusEndsEarly(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	mustMarker(t, newMembership(t, time.Second, nodes...), "3 1000")
	nodes[0].Pause()
	defer nodes[0].Resume()
	m := newMembership(t, time.Second, nodes...)
	start := time.Now()
	mustMarker(t, m, "3 1000")
	if d := time.Since(start); d > firstAnswer {
		t.Errorf("took %v", d)
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for marker, want := range map[string]title{
		"3 60000": {3, time.Minute}, "": {}, "3": {}, "x 1": {}, "3 x": {}, "3 1 2": {},
	} {
		if got := parseTitle(marker); got != want {
			t.Errorf("%q read as %v", marker, got)
		}
	}
	if got := fmt.Sprint(title{5, 1500 * time.Millisecond}); got != "5 1500" {
		t.Errorf("written as %q", got)
	}
}
