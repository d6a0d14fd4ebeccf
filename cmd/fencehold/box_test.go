package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// slack is what a time may exceed its bound by on a busy machine.
const slack = 250 * time.Millisecond

// patience bounds waits that only a failure makes long.
const patience = 20 * time.Second

// A box is a directory of locks with a working directory beside it.
type box struct {
	t     *testing.T
	dir   string
	locks string
	env   []string
}

func newBox(t *testing.T) *box {
	t.Helper()
	dir := t.TempDir()
	b := &box{t: t, dir: dir, locks: filepath.Join(dir, "locks")}
	if err := os.Mkdir(b.locks, 0o700); err != nil {
		t.Fatal(err)
	}
	b.env = append(os.Environ(), "FENCEHOLD_URL=file://"+b.locks, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	return b
}

// command prepares "fencehold ARGS" in the box.
func (b *box) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	return cmd
}

// A result is what a finished command left.
type result struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

// run runs "fencehold ARGS" to its end.
func (b *box) run(args ...string) result {
	b.t.Helper()
	return b.finish(b.command(args...))
}

func (b *box) finish(cmd *exec.Cmd) result {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	code := b.wait(cmd)
	return result{stdout.String(), stderr.String(), code, time.Since(began)}
}

// wait returns the exit code, 128+N for a signal.
func (b *box) wait(cmd *exec.Cmd) int {
	b.t.Helper()
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		b.t.Errorf("%q did not end in %s", cmd.Args, patience)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		b.t.Fatal(err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// A running command, with what it writes to standard error.
type running struct {
	*exec.Cmd
	box    *box
	stdout *bytes.Buffer
	stderr *bytes.Buffer
}

// start starts "fencehold ARGS". Should the test fail before its end, it is
// killed.
func (b *box) start(args ...string) *running {
	b.t.Helper()
	r := &running{Cmd: b.command(args...), box: b, stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	r.Stdout, r.Stderr = r.stdout, r.stderr
	if err := r.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if r.ProcessState == nil {
			r.Process.Kill()
			r.Wait()
		}
	})
	return r
}

func (r *running) signal(sig os.Signal) {
	r.box.t.Helper()
	if err := r.Process.Signal(sig); err != nil {
		r.box.t.Fatal(err)
	}
}

// end waits for the command and returns its exit code.
func (r *running) end() int {
	r.box.t.Helper()
	return r.box.wait(r.Cmd)
}

// path is a file in the box.
func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

func (b *box) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// pids waits until n lines are in the file, and returns them as numbers.
func (b *box) pids(name string, n int) []int {
	b.t.Helper()
	var pids []int
	eventually(b.t, name+" is written", func() bool {
		text, _ := os.ReadFile(b.path(name))
		pids = pids[:0]
		if !strings.HasSuffix(string(text), "\n") {
			return false
		}
		for line := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(line)
			if err != nil {
				return false
			}
			pids = append(pids, pid)
		}
		return len(pids) >= n
	})
	return pids
}

// eventually waits until ok, and fails the test if that takes too long.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// within waits until ok for at most limit.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > limit {
			if !ok() {
				t.Fatalf("not within %s: %s", limit, what)
			}
			return
		}
	}
}

// gone reports whether none of the processes is alive: zombies are not.
func gone(pids ...int) bool {
	for _, pid := range pids {
		if s, err := process.ReadStat(pid); err == nil && s.Alive() {
			return false
		}
	}
	return true
}

// free fails the test unless the lock can be had at once.
func (b *box) free(lock string) {
	b.t.Helper()
	if r := b.run("run", "-n", lock, "--", "true"); r.code != 0 {
		b.t.Errorf("run -n %s: exit code %d, want a free lock; %s", lock, r.code, r.stderr)
	}
}

// busy fails the test unless the lock is held.
func (b *box) busy(lock string) {
	b.t.Helper()
	if r := b.run("run", "-n", lock, "--", "true"); r.code != 75 {
		b.t.Errorf("run -n %s: exit code %d, want 75; %s", lock, r.code, r.stderr)
	}
}

// exists waits until the file is there.
func (b *box) exists(name string) {
	b.t.Helper()
	eventually(b.t, name+" exists", func() bool {
		_, err := os.Stat(b.path(name))
		return err == nil
	})
}

// finishQuiet runs cmd with the streams that it has, and returns its exit code.
func (b *box) finishQuiet(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return b.wait(cmd)
}
