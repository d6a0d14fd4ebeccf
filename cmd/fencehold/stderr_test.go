package main_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStderrWithoutReader: messages that nobody can get do not end the run
// before the command, and the command has the default action for such writes.
func TestStderrWithoutReader(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, guard := range []string{"--no-guard=false", "--no-guard"} {
		os.Remove(b.path("up"))
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := b.command("run", "-v", guard, "--max-hold", "300ms", "job", "--",
			"sh", "-c", `exec 2>/dev/null; trap "touch told; exit 0" TERM; echo $$ > up; while :; do sleep 0.02; done`)
		cmd.Stderr = w
		res := b.finishQuiet(t, cmd)
		w.Close()
		if res != 79 || !gone(b.pids("up", 1)...) {
			t.Errorf("%s: exit code %d, want 79 and no command left", guard, res)
		}
		b.exists("told")
		os.Remove(b.path("told"))
		b.free("job")
		if got := b.run("run", guard, "job", "--", "sh", "-c", "kill -PIPE $$"); got.code != 128+int(syscall.SIGPIPE) {
			t.Errorf("%s: a command that PIPE ends: exit code %d, want 141", guard, got.code)
		}
	}
}

// TestStderrBlocked: a stream that takes nothing does not keep the command
// alive, nor the lock. The wrapper ends without its message.
func TestStderrBlocked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	cmd := b.startBlocked()
	if code := b.loseBlocked(); code != 0 {
		t.Errorf("next run: exit code %d, want 0", code)
	}
	if code := b.wait(cmd); code != 79 {
		t.Errorf("exit code %d, want 79", code)
	}
}

// TestStderrBlockedHangs: a wrapper that has to print what is more than a
// message of the run hangs without the lock, and can be told to end.
func TestStderrBlockedHangs(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	cmd := b.startBlocked("--status-file", "no/such/directory")
	if code := b.loseBlocked(); code != 0 {
		t.Errorf("next run: exit code %d, want 0", code)
	}
	time.Sleep(1500 * time.Millisecond) // until the run's messages are given up
	cmd.Process.Signal(syscall.SIGTERM)
	if code := b.wait(cmd); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
}

// startBlocked starts a run with a standard error that takes nothing.
func (b *box) startBlocked(flags ...string) *exec.Cmd {
	b.t.Helper()
	r, w := fullPipe(b.t)
	args := append([]string{"run", "-v", "--ttl", "4s", "-k", "1s"}, flags...)
	args = append(args, "job", "--", "sh", "-c", `exec 2>/dev/null; echo $$ > up; exec sleep 100`)
	cmd := b.command(args...)
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	w.Close()
	b.t.Cleanup(func() { cmd.Process.Kill(); r.Close() })
	return cmd
}

// loseBlocked takes the lock away, and returns the exit code of the next run.
func (b *box) loseBlocked() int {
	b.t.Helper()
	t := b.t
	pids := b.pids("up", 1)
	if err := os.Remove(b.locks + "/job.lock"); err != nil {
		t.Fatal(err)
	}
	within(t, 2*time.Second+2*slack, "the command is gone", func() bool { return gone(pids...) })
	return b.run("run", "-w", "2s", "job", "--", "true").code
}

// fullPipe returns a pipe that has no room for another byte.
func fullPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fd := int(w.Fd())
	unix.SetNonblock(fd, true)
	for size := 4096; size > 0; {
		if _, err := unix.Write(fd, make([]byte, size)); errors.Is(err, unix.EAGAIN) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	unix.SetNonblock(fd, false)
	return r, w
}
