package main_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestB78RemovedFile: a lock file that is removed is a lock that is lost, and
// the whole process group ends.
func TestB78RemovedFile(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "--ttl", "4s", "-k", "500ms", "job", "--", "sh", "-c", family)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	if err := os.Remove(b.locks + "/job.lock"); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Second+slack, "the command is gone", func() bool { return gone(pids...) })
	if code := r.end(); code != 79 {
		t.Errorf("exit code %d, want 79", code)
	}
	if text := r.stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "deleted") {
		t.Errorf("stderr %q, want one line that says what happened", text)
	}
}

func TestB78Revoked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "--ttl", "4s", "-k", "500ms", "--lost-exit-code", "99", "job", "--", "sh", "-c", family)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	if u := b.run("unlock", "--force", "--reason", "maintenance tonight", "job"); u.code != 0 {
		t.Fatalf("unlock: exit code %d; %s", u.code, u.stderr)
	}
	within(t, 2*time.Second+slack, "the command is gone", func() bool { return gone(pids...) })
	if code := r.end(); code != 99 {
		t.Errorf("exit code %d, want 99", code)
	}
	if text := r.stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "maintenance tonight") {
		t.Errorf("stderr %q, want one line with the reason", text)
	}
}

// TestB78StubbornGroup: a command that ignores TERM, in all of its processes,
// is killed after the grace.
func TestB78StubbornGroup(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	stubborn := `trap "" TERM; (while :; do sleep 0.05; done) & echo $$ $! > up; while :; do sleep 0.05; done`
	r := b.start("run", "-k", "300ms", "job", "--", "sh", "-c", stubborn)
	pids := b.pids("up", 2)
	if err := os.Remove(b.locks + "/job.lock"); err != nil {
		t.Fatal(err)
	}
	within(t, 1300*time.Millisecond+2*slack, "the command is gone", func() bool { return gone(pids...) })
	if code := r.end(); code != 79 {
		t.Errorf("exit code %d, want 79; %s", code, r.stderr)
	}
}

func TestOnLostWarn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, want int }{{0, 79}, {5, 5}} {
		b := newBox(t)
		script := "echo $$ > up; while [ ! -e stop ]; do sleep 0.02; done; exit " + string(rune('0'+c.own))
		r := b.start("run", "--on-lost", "warn", "job", "--", "sh", "-c", script)
		pids := b.pids("up", 1)
		if err := os.Remove(b.locks + "/job.lock"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		if gone(pids...) {
			t.Error("the command was ended")
		}
		b.write("stop", "")
		if code := r.end(); code != c.want {
			t.Errorf("command's own code %d: exit code %d, want %d", c.own, code, c.want)
		}
		if text := r.stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "goes on") {
			t.Errorf("stderr %q, want one line", text)
		}
	}
}

func TestMaxHold(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.run("run", "--max-hold", "300ms", "-k", "200ms", "job", "--", "sh", "-c", `trap "" TERM; while :; do sleep 0.02; done`)
	if r.code != 79 || r.took < 500*time.Millisecond || r.took > 500*time.Millisecond+3*slack {
		t.Errorf("exit code %d after %s, want 79 after 500ms; %s", r.code, r.took, r.stderr)
	}
	if !strings.Contains(r.stderr, "--max-hold") {
		t.Errorf("stderr %q does not name the flag", r.stderr)
	}
	b.free("job")
}

// TestLeftBehind: what stays in the group after the command has ended gets
// TERM, and KILL after the grace, and only then is the lock released.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	script := `(trap "" TERM; while :; do sleep 0.02; done) & echo $! > up; exit 4`
	r := b.start("run", "-k", "600ms", "job", "--", "sh", "-c", script)
	pids := b.pids("up", 1)
	time.Sleep(200 * time.Millisecond)
	if !gone(pids...) {
		b.busy("job")
	}
	if code := r.end(); code != 4 || !gone(pids...) {
		t.Errorf("exit code %d, want 4 and nothing left behind; %s", code, r.stderr)
	}
	b.free("job")
}

// TestReleasedTerm: what a signal asks for does not change because the group
// has several members.
func TestReleasedTerm(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "job", "--", "sh", "-c", family)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	r.signal(syscall.SIGTERM)
	if code := r.end(); code != 143 || !gone(pids...) {
		t.Errorf("exit code %d, want 143 and nothing left; %s", code, r.stderr)
	}
	b.free("job")
}
