package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"golang.org/x/sys/unix"
)

// A terminal is a pseudo-terminal with a shell or a command on it.
type terminal struct {
	t    *testing.T
	file *os.File
	cmd  *exec.Cmd

	mu     sync.Mutex
	output bytes.Buffer
}

// onTerminal starts cmd as the leader of a session on a new terminal.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	file, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, file: file, cmd: cmd}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := file.Read(buf)
			term.mu.Lock()
			term.output.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
			cmd.Wait()
		}
		file.Close()
	})
	return term
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.output.String()
}

func (term *terminal) typed(s string) {
	term.t.Helper()
	if _, err := term.file.WriteString(s); err != nil {
		term.t.Fatal(err)
	}
}

// shows waits until the terminal has shown s.
func (term *terminal) shows(s string) {
	term.t.Helper()
	limit := time.Now().Add(patience)
	for !strings.Contains(term.text(), s) {
		if time.Now().After(limit) {
			term.t.Fatalf("the terminal does not show %q:\n%s", s, term.text())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

const (
	ctrlC         = "\x03"
	ctrlZ         = "\x1a"
	ctrlBackslash = "\x1c"
)

// TestTerminalCtrlC: a key of the terminal reaches the command exactly once,
// and the wrapper waits for what the command makes of it.
func TestTerminalCtrlC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key    string
		signal syscall.Signal
	}{{ctrlC, syscall.SIGINT}, {ctrlBackslash, syscall.SIGQUIT}} {
		b := newBox(t)
		term := onTerminal(t, b.command(append([]string{"run", "job", "--"}, b.helper(3, c.signal)...)...))
		seen := fmt.Sprintf("seen %d ", c.signal)
		term.shows("ready")
		term.typed(c.key)
		term.shows(seen + "1")
		term.typed(c.key)
		term.shows(seen + "2")
		b.write("stop", "")
		if code := b.wait(term.cmd); code != 3 || strings.Contains(term.text(), seen+"3") {
			t.Errorf("%s: exit code %d, want 3 and each key seen once:\n%s", c.signal, code, term.text())
		}
		b.free("job")
	}
}

func TestTerminalCtrlCEndsChild(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	term := onTerminal(t, b.command("run", "job", "--", "sh", "-c", "echo ready; exec sleep 100"))
	term.shows("ready")
	term.typed(ctrlC)
	if code := b.wait(term.cmd); code != 130 {
		t.Errorf("exit code %d, want 130:\n%s", code, term.text())
	}
	b.free("job")
}

func TestTerminalCtrlCWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	holder := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
	b.pids("up", 1)
	term := onTerminal(t, b.command("run", "job", "--", "true"))
	b.waiters("job", 1)
	term.typed(ctrlC)
	if code := b.wait(term.cmd); code != 130 {
		t.Errorf("exit code %d, want 130:\n%s", code, term.text())
	}
	holder.signal(syscall.SIGTERM)
	holder.end()
	b.free("job")
}

// TestTerminalGroup: in the foreground of a terminal the command stays in the
// wrapper's process group and can read; elsewhere it has one of its own.
func TestTerminalGroup(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const script = `read line; echo "line $line"; echo $$ > up; sleep 100`
	term := onTerminal(t, b.command("run", "job", "--", "sh", "-c", script))
	term.typed("hello\n")
	term.shows("line hello")
	if s, err := process.ReadStat(b.pids("up", 1)[0]); err != nil || s.Group != term.cmd.Process.Pid {
		t.Errorf("group of the command is %d (%v), want that of the wrapper %d", s.Group, err, term.cmd.Process.Pid)
	}
	term.cmd.Process.Signal(syscall.SIGTERM)
	if code := b.wait(term.cmd); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	for _, c := range []struct {
		flag string
		own  bool
	}{{"--no-stdin", true}, {"--foreground", false}} {
		os.Remove(b.path("up"))
		r := b.start("run", c.flag, "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
		pid := b.pids("up", 1)[0]
		group, _ := unix.Getpgid(r.Process.Pid)
		if s, err := process.ReadStat(pid); err != nil || (s.Group == pid) != c.own || (s.Group == group) == c.own {
			t.Errorf("%s: group of the command is %d (%v), its own: want %t", c.flag, s.Group, err, c.own)
		}
		r.signal(syscall.SIGTERM)
		if code := r.end(); code != 143 || !gone(pid) {
			t.Errorf("%s: exit code %d, want 143 and nothing left", c.flag, code)
		}
	}
}

// TestTerminalTree: the group is shared with others, so a signal goes to the
// command and its descendants, and to nobody else.
func TestTerminalTree(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	shell := `sleep 100 & echo $! > bystander; "$fh" run job -- sh -c '` + family + `'; echo "code $?"; wait`
	cmd := exec.Command("sh", "-c", shell)
	cmd.Dir, cmd.Env = b.dir, slices.Concat(b.env, []string{"fh=" + binary})
	term := onTerminal(t, cmd)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	bystander := b.pids("bystander", 1)[0]
	if err := os.Remove(b.locks + "/job.lock"); err != nil {
		t.Fatal(err)
	}
	term.shows("code 79")
	if !gone(pids...) {
		t.Error("the command is alive after the wrapper")
	}
	if gone(bystander) {
		t.Error("a process of the same group that has nothing to do with the run was ended")
	}
	unix.Kill(bystander, unix.SIGKILL)
	b.wait(cmd)
}

// TestTerminalKilled: the keeper finds the command and its descendants also in
// a group that it must not signal as a whole.
func TestTerminalKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	term := onTerminal(t, b.command("run", "job", "--", "sh", "-c", family))
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	keeper := keeperOf(t, term.cmd.Process.Pid)
	// The wrapper leads the session: its end hangs the terminal up.
	term.cmd.Process.Kill()
	within(t, 300*time.Millisecond+slack, "everything is gone", func() bool { return gone(append(pids, keeper)...) })
	b.wait(term.cmd)
	b.free("job")
}

// TestTerminalJobControl: Ctrl-Z and fg of an interactive shell, with the lock
// held throughout.
func TestTerminalJobControl(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	term := onTerminal(t, b.shell())
	term.typed("\"$fh\" run --ttl 500ms job -- " + line(b.helper(6)) + "\n")
	pid := b.pids("up", 1)[0]
	term.typed(ctrlZ)
	eventually(t, "the command is stopped", func() bool { return stopped(pid) })
	term.typed("echo shell is $((40+2))\n")
	term.shows("shell is 42")
	time.Sleep(time.Second)
	b.busy("job")
	term.typed("fg\n")
	eventually(t, "the command is continued", func() bool { return !stopped(pid) })
	b.write("stop", "")
	term.typed("echo code $?\n")
	term.shows("code 6")
	term.typed("exit\n")
	b.wait(term.cmd)
	b.free("job")
}

// TestTerminalBackgroundJob: a job of an interactive shell that reads from the
// terminal stops as a whole, and goes on when it is brought to the foreground.
func TestTerminalBackgroundJob(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	term := onTerminal(t, b.shell())
	term.typed("\"$fh\" run job -- sh -c 'echo $$ > up; read line; echo \"got $line\"; exit 6' &\n")
	pid := b.pids("up", 1)[0]
	eventually(t, "the command is stopped", func() bool { return stopped(pid) })
	// The shell continues a job only if it has seen it stopped.
	keeper, _ := process.ReadStat(parentOf(pid))
	eventually(t, "the wrapper is stopped", func() bool { return stopped(keeper.Parent) })
	eventually(t, "the shell has seen that", func() bool {
		term.typed("jobs\n")
		time.Sleep(50 * time.Millisecond)
		return strings.Contains(term.text(), "Stopped")
	})
	term.typed("fg\n")
	eventually(t, "the command is continued", func() bool { return !stopped(pid) })
	term.typed("input\n")
	term.shows("got input")
	term.typed("echo code $?\n")
	term.shows("code 6")
	term.typed("exit\n")
	b.wait(term.cmd)
	b.free("job")
}

// TestTerminalShellKilled: a stopped job ends with its shell, as it does
// without a keeper, and does not keep the lock for good.
func TestTerminalShellKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	term := onTerminal(t, b.shell())
	term.typed("\"$fh\" run job -- " + line(b.helper(6)) + "\n")
	pid := b.pids("up", 1)[0]
	keeper := parentOf(pid)
	wrapper := parentOf(keeper)
	term.typed(ctrlZ)
	eventually(t, "the job is stopped", func() bool { return stopped(pid) && stopped(wrapper) })
	term.cmd.Process.Kill()
	b.wait(term.cmd)
	eventually(t, "everything is gone", func() bool { return gone(pid, keeper, wrapper) })
	b.free("job")
}

func parentOf(pid int) int {
	s, err := process.ReadStat(pid)
	if err != nil {
		return 0
	}
	return s.Parent
}

// shell is an interactive shell with job control and nothing else.
func (b *box) shell() *exec.Cmd {
	cmd := exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	cmd.Dir, cmd.Env = b.dir, slices.Concat(b.env, []string{"fh=" + binary, "PS1=$ ", "HISTFILE="})
	return cmd
}

func TestWatchRedraws(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	term := onTerminal(t, b.command("watch", "--interval", "20ms"))
	term.shows("LOCK")
	if r := b.run("acquire", "--ttl", "10m", "seen"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	term.shows("seen")
	term.shows("\x1b[H\x1b[2J")
	term.typed(ctrlC)
	if code := b.wait(term.cmd); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

// TestUnlockAsks: unlock shows the holder and asks; only yes changes anything.
func TestUnlockAsks(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.run("acquire", "--ttl", "10m", "--owner", "nightly", "job")
	for _, c := range []struct {
		answer string
		want   int
	}{{"no", 75}, {"y", 75}, {"yes", 0}} {
		term := onTerminal(t, b.command("unlock", "job"))
		term.shows("nightly")
		term.shows("Take the lock away?")
		b.busy("job")
		term.typed(c.answer + "\n")
		if code := b.wait(term.cmd); code != c.want {
			t.Errorf("answer %q: exit code %d, want %d:\n%s", c.answer, code, c.want, term.text())
		}
	}
	b.free("job")
	term := onTerminal(t, b.command("unlock", "job"))
	if code := b.wait(term.cmd); code != 79 || strings.Contains(term.text(), "?") {
		t.Errorf("free lock: exit code %d, want 79 and no question:\n%s", code, term.text())
	}
}
