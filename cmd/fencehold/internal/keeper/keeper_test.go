//go:build unix

package keeper_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/keeper"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// TestMain lets the test program itself be the keeper process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keeper.Argument {
		os.Exit(keeper.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func spawn(t *testing.T) *keeper.Keeper {
	t.Helper()
	k, err := keeper.Spawn()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.Dismiss()
		drain(t, k)
		var status syscall.WaitStatus
		syscall.Wait4(k.PID(), &status, 0, nil)
		if status.ExitStatus() != 0 {
			t.Errorf("keeper ended with status %#x, want 0", status)
		}
	})
	return k
}

func drain(t *testing.T, k *keeper.Keeper) (events []keeper.Event) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-k.Events:
			if !ok {
				return events
			}
			events = append(events, e)
		case <-limit:
			t.Fatalf("the keeper does not end; events so far: %+v", events)
		}
	}
}

func kinds(events []keeper.Event) []keeper.EventKind {
	var all []keeper.EventKind
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

func shell(script string) keeper.Command {
	return keeper.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: os.Environ(),
		Clock: process.Monotonic, Grace: 5 * time.Second, Signal: syscall.SIGTERM,
	}
}

func begin(t *testing.T, k *keeper.Keeper, c keeper.Command) {
	t.Helper()
	if err := k.Start(c, nil); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, events []keeper.Event, want ...keeper.EventKind) {
	t.Helper()
	got := kinds(events)
	if len(got) != len(want) {
		t.Fatalf("events %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("events %v, want %v", got, want)
		}
	}
}

func TestCommandRuns(t *testing.T) {
	k := spawn(t)
	begin(t, k, shell("exit 7"))
	events := drain(t, k)
	expect(t, events, keeper.Started, keeper.Exited, keeper.Gone)
	if status := events[1].Status; status.ExitStatus() != 7 {
		t.Errorf("status %#x, want exit code 7", status)
	}
}

func TestCommandCannotBeExecuted(t *testing.T) {
	k := spawn(t)
	c := shell("")
	c.Path = "/no/such/file"
	begin(t, k, c)
	events := drain(t, k)
	expect(t, events, keeper.Failed)
	if events[0].Errno != syscall.ENOENT {
		t.Errorf("errno %v, want ENOENT", events[0].Errno)
	}
}

func TestDismissedWithoutCommand(t *testing.T) {
	k := spawn(t)
	k.Dismiss()
	expect(t, drain(t, k))
}

func TestDismissedKillsCommand(t *testing.T) {
	k := spawn(t)
	begin(t, k, shell("sleep 100 & sleep 100"))
	e := <-k.Events
	k.Dismiss()
	drain(t, k)
	if !process.Group(e.PID).Gone() {
		t.Error("the group is alive after the keeper")
	}
}

func TestDeadline(t *testing.T) {
	k := spawn(t)
	up := filepath.Join(t.TempDir(), "up")
	c := shell(`trap "" TERM; sleep 100 & : > ` + up + `; while :; do sleep 0.02; done`)
	c.Notice = 300 * time.Millisecond
	begin(t, k, c)
	<-k.Events
	await(t, up)
	began := c.Clock.Now()
	k.Deadline(began + 600*time.Millisecond)
	events := drain(t, k)
	took := c.Clock.Now() - began
	expect(t, events, keeper.Overdue, keeper.Overdue, keeper.Killed, keeper.Exited, keeper.Gone)
	if took < 600*time.Millisecond || took > 1200*time.Millisecond {
		t.Errorf("the command ended after %s, want 600ms", took)
	}
	if status := events[3].Status; status.Signal() != syscall.SIGKILL {
		t.Errorf("status %#x, want KILL", status)
	}
}

func TestDeadlineMovesOn(t *testing.T) {
	k := spawn(t)
	c := shell("sleep 1; exit 3")
	c.Notice = 100 * time.Millisecond
	begin(t, k, c)
	<-k.Events
	k.Deadline(c.Clock.Now() + 600*time.Millisecond)
	k.Deadline(c.Clock.Now() + time.Minute)
	events := drain(t, k)
	expect(t, events, keeper.Exited, keeper.Gone)
	if events[0].Status.ExitStatus() != 3 {
		t.Errorf("status %#x, want exit code 3", events[0].Status)
	}
}

// TestStopWithGrace: the grace of the first stop counts, and a later one may
// only shorten it.
func TestStopWithGrace(t *testing.T) {
	dir := t.TempDir()
	k := spawn(t)
	begin(t, k, shell(`trap "echo x >> `+dir+`/told" TERM; : > `+dir+`/up; while :; do sleep 0.02; done`))
	<-k.Events
	await(t, filepath.Join(dir, "up"))
	began := time.Now()
	k.Stop(syscall.SIGTERM, 400*time.Millisecond)
	k.Stop(syscall.SIGTERM, time.Hour)
	events := drain(t, k)
	expect(t, events, keeper.Killed, keeper.Exited, keeper.Gone)
	if took := time.Since(began); took < 400*time.Millisecond || took > time.Second {
		t.Errorf("killed after %s, want 400ms", took)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "told"))
	if n := strings.Count(string(text), "x"); n != 1 {
		t.Errorf("the command was told %d times, want once", n)
	}
}

// TestSuspendedPinned: while the wrapper is stopped on purpose, the deadline
// of a lock that cannot be taken meanwhile does not count.
func TestSuspendedPinned(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		k := spawn(t)
		c := shell("exec sleep 100")
		c.Pinned = pinned
		c.Notice = 100 * time.Millisecond
		begin(t, k, c)
		pid := (<-k.Events).PID
		k.Deadline(c.Clock.Now() + 300*time.Millisecond)
		k.Suspend(syscall.SIGTSTP)
		time.Sleep(500 * time.Millisecond)
		s, err := process.ReadStat(pid)
		if alive := err == nil && s.Stopped(); alive != pinned {
			t.Errorf("pinned %t: the command is stopped and alive: %t", pinned, alive)
		}
		k.Deadline(c.Clock.Now() + time.Minute)
		k.Resume(true)
		k.Stop(syscall.SIGTERM, 0)
		drain(t, k)
	}
}

func TestInside(t *testing.T) {
	k, err := keeper.Inside()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, k, shell("kill -HUP $$"))
	events := drain(t, k)
	expect(t, events, keeper.Started, keeper.Exited, keeper.Gone)
	if events[1].Status.Signal() != syscall.SIGHUP {
		t.Errorf("status %#x, want HUP", events[1].Status)
	}
}

func TestMainRefusesPeople(t *testing.T) {
	for _, args := range [][]string{nil, {"x"}, {"1", "2"}} {
		if code := keeper.Main(args); code != 64 {
			t.Errorf("Main(%q) = %d, want 64", args, code)
		}
	}
}

func await(t *testing.T, path string) {
	t.Helper()
	for range 2000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", path)
}
