package main_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// family is a command that is more than one process.
const family = `sleep 100 & echo $! > kid; sleep 100 & echo $$ $! > up; wait`

func stopped(pid int) bool {
	s, err := process.ReadStat(pid)
	return err == nil && s.Stopped()
}

// keeperOf returns the keeper process of a wrapper.
func keeperOf(t *testing.T, wrapper int) int {
	t.Helper()
	all, err := process.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(s.PID) + "/cmdline")
		if s.Parent == wrapper && strings.Contains(string(text), "keep-command") {
			return s.PID
		}
	}
	t.Fatal("the wrapper has no keeper")
	return 0
}

func TestWrapperKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for range 5 {
		os.Remove(b.path("up"))
		os.Remove(b.path("kid"))
		r := b.start("run", "job", "--", "sh", "-c", family)
		pids := append(b.pids("up", 2), b.pids("kid", 1)...)
		keeper := keeperOf(t, r.Process.Pid)
		r.signal(syscall.SIGKILL)
		within(t, 300*time.Millisecond+slack, "everything is gone", func() bool {
			return gone(append(pids, keeper, r.Process.Pid)...)
		})
		r.end()
		b.free("job")
	}
}

// TestWrapperGroupKilled: the keeper is out of reach of what kills the
// wrapper's process group.
func TestWrapperGroupKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	cmd := b.command("run", "job", "--", "sh", "-c", family)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	within(t, 300*time.Millisecond+slack, "everything is gone", func() bool { return gone(pids...) })
	b.wait(cmd)
	eventually(t, "the lock is free", func() bool { return b.run("run", "-n", "job", "--", "true").code == 0 })
}

// TestWrapperKilledWhileWaiting: nothing is left of a run that never had the
// lock.
func TestWrapperKilledWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	holder := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
	b.pids("up", 1)
	waiter := b.start("run", "job", "--", "touch", "ran")
	b.waiters("job", 1)
	keeper := keeperOf(t, waiter.Process.Pid)
	waiter.signal(syscall.SIGKILL)
	waiter.end()
	within(t, 300*time.Millisecond+slack, "the keeper is gone", func() bool { return gone(keeper) })
	holder.signal(syscall.SIGTERM)
	holder.end()
	b.free("job")
	if _, err := os.Stat(b.path("ran")); err == nil {
		t.Error("the command of the waiter was started")
	}
}

// TestWrapperFrozen: a wrapper that is stopped for longer than the lease
// cannot vouch for the lock, so the keeper ends the command.
func TestWrapperFrozen(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "--ttl", "1s", "job", "--", "sh", "-c", family)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	began := time.Now()
	r.signal(syscall.SIGSTOP)
	within(t, time.Second+slack, "the command is gone", func() bool { return gone(pids...) })
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the command was ended %s after the wrapper was stopped, long before the lease ends", took)
	}
	r.signal(syscall.SIGCONT)
	if code := r.end(); code != 79 {
		t.Errorf("exit code %d, want 79; %s", code, r.stderr)
	}
	if n := strings.Count(r.stderr.String(), "\n"); n != 1 {
		t.Errorf("stderr %q, want one line", r.stderr)
	}
	b.free("job")
}

// TestKeeperKilled: without a keeper nobody would guard the command, so the
// wrapper ends it.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "job", "--", "sh", "-c", family)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	syscall.Kill(keeperOf(t, r.Process.Pid), syscall.SIGKILL)
	if code := r.end(); code != 70 || !strings.Contains(r.stderr.String(), "keeper") {
		t.Errorf("exit code %d, want 70 and a line about the keeper; %s", code, r.stderr)
	}
	if !gone(pids...) {
		t.Error("the command is alive after the wrapper")
	}
	b.free("job")
}

func TestKeeperKilledWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	holder := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
	b.pids("up", 1)
	waiter := b.start("run", "job", "--", "true")
	b.waiters("job", 1)
	syscall.Kill(keeperOf(t, waiter.Process.Pid), syscall.SIGKILL)
	if code := waiter.end(); code != 70 {
		t.Errorf("exit code %d, want 70; %s", code, waiter.stderr)
	}
	holder.signal(syscall.SIGTERM)
	holder.end()
}

// TestKeeperSurvivesServiceStop: a service manager sends TERM to every process
// of a service. The command ends in its own way, and the wrapper reports it.
func TestKeeperSurvivesServiceStop(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "job", "--", "sh", "-c", `trap "sleep 0.2; exit 5" TERM; echo $$ > up; while :; do sleep 0.02; done`)
	b.pids("up", 1)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		syscall.Kill(keeperOf(t, r.Process.Pid), sig)
	}
	r.signal(syscall.SIGTERM)
	if code := r.end(); code != 5 {
		t.Errorf("exit code %d, want 5; %s", code, r.stderr)
	}
}

func TestNoGuard(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "--no-guard", "job", "--", "sh", "-c", "echo $$ > up; sleep 100 & wait")
	pids := b.pids("up", 1)
	if s, err := process.ReadStat(pids[0]); err != nil || s.Parent != r.Process.Pid {
		t.Errorf("parent of the command is %d (%v), want the wrapper %d", s.Parent, err, r.Process.Pid)
	}
	r.signal(syscall.SIGTERM)
	if code := r.end(); code != 143 || !gone(pids...) {
		t.Errorf("exit code %d, want 143 and no command left; %s", code, r.stderr)
	}
	b.free("job")
}

// TestB79NoZombies: what the command's descendants leave behind is reaped
// while it still runs.
func TestB79NoZombies(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const orphans = `i=0; while [ $i -lt 50 ]; do (sleep 0.1 & exit 0); i=$((i+1)); done; echo $$ > up; sleep 100`
	r := b.start("run", "job", "--", "sh", "-c", orphans)
	command := b.pids("up", 1)[0]
	keeper := keeperOf(t, r.Process.Pid)
	within(t, 5*time.Second, "only the command is a child of the keeper", func() bool {
		children := childrenOf(t, keeper, r.Process.Pid)
		return len(children) == 2 && childIs(children, command) && childIs(children, keeper)
	})
	r.signal(syscall.SIGTERM)
	if code := r.end(); code != 143 {
		t.Errorf("exit code %d, want 143; %s", code, r.stderr)
	}
}

// childrenOf lists the children of the parents, zombies included.
func childrenOf(t *testing.T, parents ...int) []process.Stat {
	t.Helper()
	all, err := process.All()
	if err != nil {
		t.Fatal(err)
	}
	var children []process.Stat
	for _, s := range all {
		for _, parent := range parents {
			if s.Parent == parent {
				children = append(children, s)
			}
		}
	}
	return children
}

func childIs(children []process.Stat, pid int) bool {
	for _, s := range children {
		if s.PID == pid && s.Alive() {
			return true
		}
	}
	return false
}

// TestNoGuardWithValue: however the flag is written, there is no keeper.
func TestNoGuardWithValue(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--no-guard=true", "--no-guard=1"} {
		b := newBox(t)
		r := b.start("run", flag, "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
		pid := b.pids("up", 1)[0]
		if children := childrenOf(t, r.Process.Pid); len(children) != 1 || children[0].PID != pid {
			t.Errorf("%s: children of the wrapper are %+v, want only the command %d", flag, children, pid)
		}
		r.signal(syscall.SIGTERM)
		if code := r.end(); code != 143 {
			t.Errorf("%s: exit code %d, want 143; %s", flag, code, r.stderr)
		}
	}
}

// TestChildrenFromBefore: what a shell had started in the background before it
// became this program is not the command's: it is neither ended nor waited for.
func TestChildrenFromBefore(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--no-guard", "--no-guard=false"} {
		b := newBox(t)
		script := `sleep 100 >/dev/null 2>&1 & echo $! > stranger; exec "$@"`
		cmd := b.command("run", "--foreground", flag, "job", "--", "sh", "-c", "sleep 100 >/dev/null 2>&1 & echo $! > left; exit 3")
		shell := append([]string{"sh", "-c", script, "sh"}, cmd.Args...)
		cmd.Path, cmd.Args = "/bin/sh", shell
		r := b.finish(cmd)
		stranger, left := b.pids("stranger", 1)[0], b.pids("left", 1)[0]
		if r.code != 3 || gone(stranger) || !gone(left) {
			t.Errorf("%s: exit code %d, want 3; the stranger is gone: %t; what the command left is gone: %t; %s",
				flag, r.code, gone(stranger), gone(left), r.stderr)
		}
		syscall.Kill(stranger, syscall.SIGKILL)
		b.free("job")
	}
}

// TestChildrenFromBeforeKeeperKilled: nor does the wrapper take them for the
// command's when it has to end that itself.
func TestChildrenFromBeforeKeeperKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	script := `sleep 100 >/dev/null 2>&1 & echo $! > stranger; exec "$@"`
	r := b.command("run", "--foreground", "job", "--", "sh", "-c", family)
	r.Path, r.Args = "/bin/sh", append([]string{"sh", "-c", script, "sh"}, r.Args...)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	stranger := b.pids("stranger", 1)[0]
	syscall.Kill(keeperOf(t, r.Process.Pid), syscall.SIGKILL)
	if code := b.wait(r); code != 70 || !gone(pids...) || gone(stranger) {
		t.Errorf("exit code %d, want 70; the command is gone: %t; the stranger is gone: %t",
			code, gone(pids...), gone(stranger))
	}
	syscall.Kill(stranger, syscall.SIGKILL)
	b.free("job")
}

// TestKeeperFrozen: a keeper that does not do what it is told does not keep
// the command alive. Continued, it does its work; the loss is reported.
func TestKeeperFrozen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		code   int
		happen func(b *box, r *running)
	}{
		{"TERM", 143, func(_ *box, r *running) { r.signal(syscall.SIGTERM) }},
		{"loss", 79, func(b *box, _ *running) { os.Remove(b.locks + "/job.lock") }},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			r := b.start("run", "--ttl", "20s", "-k", "500ms", "job", "--", "sh", "-c", family)
			pids := append(b.pids("up", 2), b.pids("kid", 1)...)
			syscall.Kill(keeperOf(t, r.Process.Pid), syscall.SIGSTOP)
			c.happen(b, r)
			within(t, 3*time.Second+2*slack, "the command is gone", func() bool { return gone(pids...) })
			if code := r.end(); code != c.code {
				t.Errorf("exit code %d, want %d; %s", code, c.code, r.stderr)
			}
			b.free("job")
		})
	}
}
