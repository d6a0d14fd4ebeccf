package process

import (
	"slices"
	"testing"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 "
	for line, want := range map[string]Stat{
		"12 (sh) S 1 2 3" + rest + "1 0 99":         {PID: 12, Parent: 1, Group: 2, Session: 3, State: 'S', Threads: 1, Start: 99},
		"12 (a) Z 1 (b) ) Z 4 5 6" + rest + "7 0 8": {PID: 12, Parent: 4, Group: 5, Session: 6, State: 'Z', Threads: 7, Start: 8},
		"7 (two\nlines) T 1 7 7" + rest + "1 0 1":   {PID: 7, Parent: 1, Group: 7, Session: 7, State: 'T', Threads: 1, Start: 1},
	} {
		if got, err := parseStat([]byte(line)); err != nil || got != want {
			t.Errorf("%q reads as %+v, %v, want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{
		"", "12", "12 (sh) S 1 2", "12 (sh) S 1 y 3" + rest + "1 0 1",
		"x (sh) S 1 2 3" + rest + "1 0 1", "12 )( S 1 2 3" + rest + "1 0 1", "1 (a) SS 1 2 3" + rest + "1 0 1", "1 (a) S 1 2 3" + rest, "1 (a) S 1 2 3" + rest + "z 0 1",
		"1 (a) S 1 2 3" + rest + "1 0", "1 (a) S 1 2 3" + rest + "1 0 z",
	} {
		if got, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q reads as %+v, want an error", line, got)
		}
	}
}

func TestAlive(t *testing.T) {
	t.Parallel()
	for s, want := range map[Stat]bool{
		{State: 'S', Threads: 1}: true, {State: 'T', Threads: 1}: true, {State: 'D'}: true,
		{State: 'Z', Threads: 1}: false, {State: 'Z'}: false, {State: 'X'}: false,
		// Only the first thread has ended.
		{State: 'Z', Threads: 2}: true,
	} {
		if s.Alive() != want {
			t.Errorf("%+v is alive: %t, want %t", s, s.Alive(), want)
		}
	}
}

func TestDescend(t *testing.T) {
	t.Parallel()
	all := []Stat{
		{PID: 10, Parent: 1, Session: 5, State: 'S'},
		{PID: 11, Parent: 10, Session: 5, State: 'S'},
		{PID: 12, Parent: 11, Session: 5, State: 'T'},
		{PID: 13, Parent: 11, Session: 5, State: 'Z'},
		{PID: 14, Parent: 11, Session: 9, State: 'S'}, // left the session
		{PID: 15, Parent: 14, Session: 5, State: 'R'},
		{PID: 16, Parent: 10, Session: 5, State: 'S'}, // does not count, nor do its children
		{PID: 17, Parent: 16, Session: 5, State: 'S'},
		{PID: 20, Parent: 1, Session: 5, State: 'S'}, // not a descendant
	}
	got := numbers(descend(all, 10, []Stat{{PID: 16}, {PID: 12, Start: 1}}, 5))
	// The number of 12 was that of another process, which began earlier.
	if want := []int{11, 12, 15}; !slices.Equal(got, want) {
		t.Errorf("descendants %v, want %v", got, want)
	}
}

func numbers(stats []Stat) []int {
	var pids []int
	for _, s := range stats {
		pids = append(pids, s.PID)
	}
	slices.Sort(pids)
	return pids
}

func TestOrphaned(t *testing.T) {
	t.Parallel()
	shell := Stat{PID: 5, Parent: 1, Group: 5, Session: 5, State: 'S'}
	wrapper := Stat{PID: 10, Parent: 5, Group: 10, Session: 5, State: 'T'}
	keeper := Stat{PID: 11, Parent: 10, Group: 11, Session: 5, State: 'S'}
	command := Stat{PID: 12, Parent: 11, Group: 10, Session: 5, State: 'T'}
	if orphaned([]Stat{shell, wrapper, keeper, command}, 10, 5, 11) {
		t.Error("a job of a shell that lives is orphaned")
	}
	wrapper.Parent = 1
	if !orphaned([]Stat{{PID: 1, Session: 1, Group: 1, State: 'S'}, wrapper, keeper, command}, 10, 5, 11) {
		t.Error("a job whose shell is gone is not orphaned")
	}
	script := Stat{PID: 9, Parent: 5, Group: 10, Session: 5, State: 'S'}
	wrapper.Parent = 9
	if orphaned([]Stat{shell, script, wrapper, keeper, command}, 10, 5, 11) {
		t.Error("a job in a script of a shell that lives is orphaned")
	}
}
