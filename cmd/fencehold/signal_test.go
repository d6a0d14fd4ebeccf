package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// trapper is a command that tells each signal that it gets, and ends after it.
const trapper = `trap "echo got; exit 3" TERM INT HUP QUIT USR1 USR2; echo $$ > up; while :; do sleep 0.02; done`

func TestB77SignalsReachChild(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			r := b.start("run", "job", "--", "sh", "-c", trapper)
			pids := b.pids("up", 1)
			b.busy("job")
			r.signal(sig)
			if code := r.end(); code != 3 {
				t.Errorf("exit code %d, want 3; %s", code, r.stderr)
			}
			if got := r.stdout.String(); got != "got\n" {
				t.Errorf("the command printed %q, want \"got\" once", got)
			}
			if !gone(pids...) {
				t.Error("the command is alive after the wrapper")
			}
			b.free("job")
		})
	}
}

func TestB77ChildThatIgnoresTerm(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "-k", "1s", "job", "--", "sh", "-c", `trap "" TERM; echo $$ > up; while :; do sleep 0.05; done`)
	pids := b.pids("up", 1)
	began := time.Now()
	r.signal(syscall.SIGTERM)
	time.Sleep(500 * time.Millisecond)
	b.busy("job")
	code := r.end()
	if took := time.Since(began); code != 137 || took < time.Second || took > time.Second+2*slack {
		t.Errorf("exit code %d after %s, want 137 after 1s", code, took)
	}
	if !gone(pids...) {
		t.Error("the command is alive after the wrapper")
	}
	b.free("job")
}

// TestSignalWhileWaiting: a run that waits ends at once, with nothing started
// and no place left in line.
func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			holder := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
			b.pids("up", 1)
			waiter := b.start("run", "job", "--", "touch", "ran")
			b.waiters("job", 1)
			began := time.Now()
			waiter.signal(sig)
			if code := waiter.end(); code != 128+int(sig) {
				t.Errorf("exit code %d, want %d; %s", code, 128+int(sig), waiter.stderr)
			}
			if took := time.Since(began); took > time.Second+slack {
				t.Errorf("the waiter ended after %s", took)
			}
			b.waiters("job", 0)
			holder.signal(syscall.SIGTERM)
			holder.end()
			b.free("job")
			if _, err := os.Stat(b.path("ran")); err == nil {
				t.Error("the command of the waiter was started")
			}
		})
	}
}

// waiters waits until n processes stand in line.
func (b *box) waiters(lock string, n int) {
	b.t.Helper()
	eventually(b.t, fmt.Sprintf("%d in line", n), func() bool {
		r := b.run("inspect", "-o", "jsonl", lock)
		return r.code == 0 && strings.Contains(r.stdout, fmt.Sprintf(`"waiting":%d,`, n))
	})
}

// TestSignalBeforeStart: whatever the moment at which a signal comes, either
// the command has never run, or it has got the signal and is gone.
func TestSignalBeforeStart(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for i := range 30 {
		os.Remove(b.path("up"))
		r := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; sleep 100")
		time.Sleep(time.Duration(i) * 2 * time.Millisecond)
		r.signal(syscall.SIGTERM)
		if code := r.end(); code != 143 {
			t.Errorf("signal after %d ms: exit code %d, want 143; %s", 2*i, code, r.stderr)
		}
		if text, err := os.ReadFile(b.path("up")); err == nil && len(text) > 0 {
			if pids := b.pids("up", 1); !gone(pids...) {
				t.Errorf("signal after %d ms: the command is alive", 2*i)
			}
		}
		b.free("job")
	}
}

func TestNohupStaysIgnored(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	cmd := b.command("run", "job", "--", "grep", "SigIgn", "/proc/self/status")
	shell := append([]string{"-c", `trap "" HUP INT; exec "$@"`, "sh"}, cmd.Args...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh"}, shell...)
	r := b.finish(cmd)
	fields := strings.Fields(r.stdout)
	if r.code != 0 || len(fields) != 2 {
		t.Fatalf("exit code %d, output %q, %s", r.code, r.stdout, r.stderr)
	}
	var mask uint64
	fmt.Sscanf(fields[1], "%x", &mask)
	const hangup, interrupt = 1 << (syscall.SIGHUP - 1), 1 << (syscall.SIGINT - 1)
	if want := bareSignals(t)["SigIgn"] | hangup | interrupt; mask != want {
		t.Errorf("the command ignores %#x, want %#x: HUP and INT and nothing else", mask, want)
	}
}

func TestDispositionsAreDefault(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	bare := bareSignals(t)
	r := b.run("run", "job", "--", "cat", "/proc/self/status")
	lines := 0
	for line := range strings.Lines(r.stdout) {
		name, mask, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "SigIgn" && name != "SigBlk" && name != "SigCgt" {
			continue
		}
		lines++
		if got, want := signalMask(t, mask), bare[name]; got != want {
			t.Errorf("the command begins with %q, a bare one with %#x", line, want)
		}
	}
	if lines != 3 {
		t.Errorf("%d lines about signals in %q", lines, r.stdout)
	}
}

func TestSuspendAndContinue(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start(append([]string{"run", "--ttl", "500ms", "job", "--"}, b.helper(0)...)...)
	pids := b.pids("up", 1)
	r.signal(syscall.SIGTSTP)
	eventually(t, "wrapper and command are stopped", func() bool { return stopped(r.Process.Pid) && stopped(pids[0]) })
	// A lock file is held by living processes: time does not take it away.
	time.Sleep(time.Second)
	b.busy("job")
	r.signal(syscall.SIGCONT)
	eventually(t, "the command is continued", func() bool { return !stopped(pids[0]) })
	r.signal(syscall.SIGTERM)
	if code := r.end(); code != 143 {
		t.Errorf("exit code %d, want 143; %s", code, r.stderr)
	}
}

func TestSuspendedAndLost(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start(append([]string{"run", "job", "--"}, b.helper(0, syscall.SIGCONT)...)...)
	pids := b.pids("up", 1)
	r.signal(syscall.SIGTSTP)
	eventually(t, "wrapper and command are stopped", func() bool { return stopped(r.Process.Pid) && stopped(pids[0]) })
	if err := os.Remove(b.locks + "/job.lock"); err != nil {
		t.Fatal(err)
	}
	r.signal(syscall.SIGCONT)
	if code := r.end(); code != 79 {
		t.Errorf("exit code %d, want 79; %s", code, r.stderr)
	}
	if _, err := os.Stat(b.path(fmt.Sprintf("got%d", syscall.SIGCONT))); err == nil || !gone(pids...) {
		t.Error("the command was continued without the lock")
	}
}

// bareSignals returns the masks of signals that a command begins with which
// this process starts itself: what starts the tests may ignore some.
func bareSignals(t *testing.T) map[string]uint64 {
	t.Helper()
	status, err := exec.Command("cat", "/proc/self/status").Output()
	if err != nil {
		t.Fatal(err)
	}
	masks := map[string]uint64{}
	for line := range strings.Lines(string(status)) {
		if name, mask, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.HasPrefix(name, "Sig") && name != "SigQ" {
			masks[name] = signalMask(t, mask)
		}
	}
	return masks
}

func signalMask(t *testing.T, text string) uint64 {
	t.Helper()
	mask, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask
}
