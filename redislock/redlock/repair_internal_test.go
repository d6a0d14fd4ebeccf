package redlock

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// mustRepair mends a set, and returns what it reported.
func mustRepair(t *testing.T, m *members, opts RepairOptions) string {
	t.Helper()
	told, err := tryRepair(t, m, opts)
	if err != nil {
		t.Fatalf("repair: %v; it said:\n%s", err, told)
	}
	return told
}

func tryRepair(t *testing.T, m *members, opts RepairOptions) (string, error) {
	t.Helper()
	var told strings.Builder
	opts.Progress = func(text string) { told.WriteString(text + "\n") }
	err := (&repair{m: m, opts: opts}).run(t.Context())
	return told.String(), err
}

// put writes a lock as the backend does.
func put(r *testcluster.Redis, name, holder string, number int, ttl time.Duration) {
	value := fmt.Sprintf("fh1:%s:%d:1:o=me", holder, number)
	r.Do("SET", "lock:"+name, value, "PX", fmt.Sprint(ttl.Milliseconds()))
}

// TestRepair: what the others know is copied, names of which they know different
// holders are kept taken, and the server votes at once.
func TestRepair(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 5)
	m := newMembership(t, time.Hour, nodes...)
	mustMarker(t, m, "5 3600000")
	a, b, c, lost := nodes[0], nodes[1], nodes[2], nodes[4]
	for _, r := range nodes[:3] {
		put(r, "everywhere", "E", 5+r.Port(), time.Minute)
	}
	put(b, "bare", "B", 7, time.Minute)
	put(a, "split", "X", 8, 20*time.Second)
	put(c, "split", "Y", 9, 50*time.Second)
	put(a, "fh!n:fh!moved", "M", 1, time.Minute)
	a.Do("SET", "lock:stranger", "somebody else's\n\x00", "PX", "60000")
	b.Do("SET", "lock:endless", "x")
	c.Do("HSET", "lock:hash", "f", "v")
	a.Do("SET", "other:key", "x")
	a.Do("SET", "lock:fh!h", "100")
	b.Do("SET", "lock:fh!h", "4000000000000000")
	lost.Restart()

	start := time.Now()
	told := mustRepair(t, m, RepairOptions{})
	if d := time.Since(start); d < attemptsEnd {
		t.Errorf("repaired within %v: attempts may still be under way", d)
	}
	if !strings.Contains(told, "votes again, with 5 locks copied and 1 names kept taken") {
		t.Errorf("told:\n%s", told)
	}
	for key, want := range map[string]string{
		"lock:everywhere": "fh1:E:", "lock:bare": "fh1:B:7:1:o=me", "lock:fh!n:fh!moved": "fh1:M:1:1:o=me",
		"lock:stranger": "somebody else's\n\x00", "lock:endless": "x", "lock:hash": "", "other:key": "",
		"lock:fh!h": "4000000000000000", "lock:fh!m": "5 3600000", "lock:fh!j": "",
	} {
		if got := lost.Do("GET", key); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	taken, left := lost.Do("GET", "lock:split"), lost.Do("PTTL", "lock:split")
	if strings.Contains(taken, ":X:") || strings.Contains(taken, ":Y:") || !strings.HasSuffix(taken, ":k=") || len(left) != 5 || left < "35000" {
		t.Errorf("the split name has %q for %s ms", taken, left)
	}
	if lost.Do("PTTL", "lock:endless") == "-1" {
		t.Error("a stranger's lock without an end stays for good")
	}
	if told := mustRepair(t, m, RepairOptions{}); !strings.Contains(told, "5 of 5 servers vote") {
		t.Errorf("nothing to repair, and told:\n%s", told)
	}
}

// TestRepairMany: more locks than are copied at a time.
func TestRepairMany(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Hour, nodes...)
	mustMarker(t, m, "3 3600000")
	const locks = 5*copyStep + 7
	for _, r := range nodes[:2] {
		r.Do("EVAL", "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'lock:' .. i, 'fh1:H' .. i .. ':1:1:', 'PX', 600000) end", "0",
			fmt.Sprint(locks))
	}
	nodes[2].Do("FLUSHALL")
	mustRepair(t, m, RepairOptions{})
	if got := nodes[2].Do("DBSIZE"); got != fmt.Sprint(locks+1) {
		t.Errorf("%s keys, want %d locks and the marker", got, locks)
	}
}

// TestRepairTakesTheOthers: with one of three servers down, nobody knows all locks
// that another one has forgotten.
func TestRepairTakesTheOthers(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Second, nodes...)
	mustMarker(t, m, "3 1000")
	nodes[0].Do("FLUSHALL")
	nodes[1].Kill()
	for name, c := range map[string]struct {
		opts RepairOptions
		says string
	}{
		"plain": {RepairOptions{}, "only 1 of 3 servers has its memory"},
	} {
		told, err := tryRepair(t, m, c.opts)
		if !errors.Is(err, fencehold.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; told:\n%s", name, err, told)
		}
	}
	if nodes[0].Do("EXISTS", "lock:fh!m") != "0" {
		t.Error("let in all the same")
	}
}

// TestRepairByForce: a set of which no majority is left is founded again after the
// longest TTL, and not without force.
func TestRepairByForce(t *testing.T) {
	t.Parallel()
	const maxTTL = 2 * time.Second
	nodes := startNodes(t, 3)
	m := newMembership(t, maxTTL, nodes...)
	mustMarker(t, m, "3 2000")
	nodes[0].Do("SET", "lock:fh!h", "1234")
	nodes[1].Restart()
	nodes[2].Kill()
	if _, err := tryRepair(t, m, RepairOptions{}); !errors.Is(err, fencehold.ErrUnavailable) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("without force: %v", err)
	}
	start := time.Now()
	told := mustRepair(t, m, RepairOptions{Force: true})
	if d := time.Since(start); d < maxTTL {
		t.Errorf("founded again within %v; told:\n%s", d, told)
	}
	if got := markers(nodes[:2]); got != "3 2000, 3 2000" || nodes[1].Do("GET", "lock:fh!h") != "1234" {
		t.Errorf("markers %s", got)
	}
	mustMarker(t, newMembership(t, maxTTL, nodes...), "3 2000")
	nodes[2].Start()
	told = mustRepair(t, newMembership(t, maxTTL, nodes...), RepairOptions{})
	if got := markers(nodes); got != "3 2000, 3 2000, 3 2000" {
		t.Errorf("markers %s after the last server came back; told:\n%s", got, told)
	}
}

// TestRepairRefused: what repair cannot or need not do.
func TestRepairRefused(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Second, nodes...)
	if _, err := tryRepair(t, m, RepairOptions{}); err == nil || !strings.Contains(err.Error(), "the first lock founds it") {
		t.Errorf("a set that is not founded: %v", err)
	}
	mustMarker(t, m, "3 1000")
	nodes[2].Do("SET", "lock:fh!m", "5 1000")
	for _, force := range []bool{false, true} {
		_, err := tryRepair(t, m, RepairOptions{Force: force})
		if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), nodes[2].Addr()) {
			t.Errorf("a server of another set, force %v: %v", force, err)
		}
	}
	nodes[2].Do("DEL", "lock:fh!m")
	nodes[0].Kill()
	nodes[1].Kill()
	if _, err := tryRepair(t, m, RepairOptions{Force: true}); !errors.Is(err, fencehold.ErrUnavailable) {
		t.Errorf("one server of three: %v", err)
	}
	if err := Repair(t.Context(), nil, RepairOptions{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another backend: %v", err)
	}
}

// TestRepairWaitsForAttempts: what is executed late, of an attempt that the emptied
// server had voted for, is copied all the same.
func TestRepairWaitsForAttempts(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	m := newMembership(t, time.Hour, nodes...)
	mustMarker(t, m, "3 3600000")
	nodes[2].Do("FLUSHALL")
	executed := make(chan struct{})
	opts := RepairOptions{Progress: func(text string) {
		if strings.HasPrefix(text, "waiting") {
			time.AfterFunc(attemptsEnd/3, func() {
				put(nodes[1], "late", "L", 7, time.Minute)
				close(executed)
			})
		}
	}}
	if err := (&repair{m: m, opts: opts}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-executed
	if got := nodes[2].Do("GET", "lock:late"); got != "fh1:L:7:1:o=me" {
		t.Errorf("copied as %q", got)
	}
}
