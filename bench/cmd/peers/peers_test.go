package main

import (
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold/bench/internal/peer"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// TestRun measures as little as possible: everybody shows up in the table.
func TestRun(t *testing.T) {
	s := &session{
		servers: []*testcluster.Redis{testcluster.StartRedis(t)}, table: newTable(),
		scale: scale{
			chunks: 1, goroutines: 8, busy: 300 * time.Millisecond, crowds: []int{4}, handovers: 4, crashes: 2,
		},
	}
	if err := s.run(1, s.single()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		library peer.Library
		rows    int
	}{
		{peer.SharedRaw, 2},
		{peer.Raw, 2},
		{peer.BLPop, 4},
		{peer.Fencehold, 8},
		{peer.Redsync, 8},
		{peer.RedsyncRueidis, 8},
		{peer.BSM, 8},
	} {
		rows := 0
		for _, r := range s.table.rows {
			if r.library == c.library.Name && len(r.values) == 1 && r.values[0] != 0 {
				rows++
			}
		}
		if rows != c.rows {
			t.Errorf("%s has %d figures; want %d", c.library.Name, rows, c.rows)
		}
	}
}

// TestRunRedlock does the same on a set of servers: nobody leaves keys, and those that
// somebody else has are not counted.
func TestRunRedlock(t *testing.T) {
	s := &session{table: newTable(), scale: scale{chunks: 1, setCrowds: []int{4}, handovers: 4, attempts: 20}}
	for range setSize {
		s.servers = append(s.servers, testcluster.StartRedis(t))
	}
	if err := s.run(1, s.set()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		library peer.Library
		rows    int
	}{
		{peer.SharedRedsync, 1},
		{peer.RedsyncFailFast, 1},
		{peer.Redlock, 6},
		{peer.RedsyncRueidis, 6},
		{peer.Redsync, 6},
	} {
		rows := 0
		for _, r := range s.table.rows {
			if r.library == c.library.Name && (r.values[0] != 0) != (r.measure == setLeft) {
				rows++
			}
		}
		if rows != c.rows {
			t.Errorf("%s has %d figures; want %d", c.library.Name, rows, c.rows)
		}
	}
}

// TestLeftCounts lets a holder keep a lock on all servers but one, and somebody else
// have others: the former is counted.
func TestLeftCounts(t *testing.T) {
	s := &session{scale: scale{attempts: 20}}
	for range setSize {
		s.servers = append(s.servers, testcluster.StartRedis(t))
	}
	s.occupy("lock:left 1 ")
	for _, server := range s.servers[1:] {
		server.Do("SET", "lock:left 1 99", "left behind")
	}
	if taken := s.servers[0].Do("DBSIZE"); taken != "16" {
		t.Errorf("%s of 20 locks are taken at a server; want all even ones and three of five odd ones", taken)
	}
	if left := s.left("left 1 "); left != setSize-1 {
		t.Errorf("%d keys are counted; want %d", left, setSize-1)
	}
}

// TestTable compares round by round, and shows the goal where it belongs.
func TestTable(t *testing.T) {
	table := newTable()
	m := measure{name: "free", unit: "µs", base: "raw", goal: "ratio ≤ 1.25"}
	for _, v := range []float64{100, 200, 50} {
		table.add(m, "raw", v)
	}
	for _, v := range []float64{120, 180, 75} {
		table.add(m, ours, v)
	}
	var b strings.Builder
	table.print(&b)
	want := "| measure | library | median | rounds | ratio | goal |\n| - | - | - | - | - | - |\n" +
		"| free | raw | 100 µs | 50.0–200 |  |  |\n" +
		"| free | fencehold | 120 µs | 75.0–180 | 1.20 (0.90–1.50) | ratio ≤ 1.25 |\n"
	if b.String() != want {
		t.Errorf("printed\n%s; want\n%s", b.String(), want)
	}
}
