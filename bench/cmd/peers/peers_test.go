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
		server: testcluster.StartRedis(t), table: newTable(),
		scale: scale{
			chunks: 1, goroutines: 8, busy: 300 * time.Millisecond, crowds: []int{4}, handovers: 4, crashes: 2,
		},
	}
	if err := s.run(1); err != nil {
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
