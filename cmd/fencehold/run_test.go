package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestB79ExitCodes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("plain", "no program\n")
	if err := os.Chmod(b.path("plain"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.write("script", "exit 9\n")
	b.write("badinterp", "#!/nonexistent/interpreter\n")
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"success", 0, []string{"run", "job", "--", "true"}},
		{"own code", 7, []string{"run", "job", "--", "sh", "-c", "exit 7"}},
		{"largest code", 255, []string{"run", "job", "--", "sh", "-c", "exit 255"}},
		{"killed", 137, []string{"run", "job", "--", "sh", "-c", "kill -9 $$"}},
		{"terminated", 143, []string{"run", "job", "--", "sh", "-c", "kill -TERM $$"}},
		{"not found", 127, []string{"run", "job", "--", "no-such-command"}},
		{"no such path", 127, []string{"run", "job", "--", "./no/such/path"}},
		{"not executable", 126, []string{"run", "job", "--", "./plain"}},
		{"directory", 126, []string{"run", "job", "--", "./locks"}},
		{"script without #!", 9, []string{"run", "job", "--", "./script"}},
		{"interpreter missing", 127, []string{"run", "job", "--", "./badinterp"}},
		{"unknown flag", 64, []string{"run", "--no-such-flag", "job", "--", "true"}},
		{"unknown flag after LOCK", 64, []string{"run", "job", "--no-such-flag", "--", "true"}},
		{"empty name", 64, []string{"run", "", "--", "true"}},
		{"name with a newline", 64, []string{"run", "a\nb", "--", "true"}},
		{"no command", 64, []string{"run", "job"}},
		{"no lock", 64, []string{"run"}},
		{"shared", 64, []string{"run", "-s", "job", "--", "true"}},
		{"slots", 64, []string{"run", "-N", "2", "job", "--", "true"}},
		{"bad duration", 64, []string{"run", "--ttl", "soon", "job", "--", "true"}},
		{"TTL too short", 64, []string{"run", "--ttl", "1ms", "job", "--", "true"}},
		{"bad signal", 64, []string{"run", "--signal", "NONE", "job", "--", "true"}},
		{"bad URL", 64, []string{"run", "--url", "nosuch://x", "job", "--", "true"}},
		{"no such directory", 73, []string{"run", "--url", "file:///dev/null/locks", "job", "--", "true"}},
		{"missing configuration", 78, []string{"run", "--config", "missing.toml", "job", "--", "true"}},
		{"unknown command", 64, []string{"no-such-command"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := b.run(c.args...)
			if r.code != c.code {
				t.Errorf("exit code %d, want %d; stderr %q", r.code, c.code, r.stderr)
			}
			if r.stdout != "" {
				t.Errorf("stdout %q, want nothing", r.stdout)
			}
			if own := c.code >= 64 && c.code < 128; own && (strings.Count(r.stderr, "\n") != 1 ||
				!strings.HasPrefix(r.stderr, "fencehold: ")) {
				t.Errorf("stderr %q, want one line that begins with \"fencehold: \"", r.stderr)
			}
			if strings.Contains(r.stderr, "goroutine") || strings.Contains(r.stderr, "panic") {
				t.Errorf("stderr %q shows the program's inside", r.stderr)
			}
		})
	}
	b.free("job")
}

// TestMissingCommandTakesNoLock: 126 and 127 are found out before the lock is
// asked for, and so come at once although it is held.
func TestMissingCommandTakesNoLock(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if r := b.run("run", "job", "--", "no-such-command"); r.code != 127 {
		t.Errorf("exit code %d, want 127", r.code)
	}
	entries, err := os.ReadDir(b.locks)
	if err != nil || len(entries) != 0 {
		t.Errorf("lock directory holds %v (%v), want nothing", entries, err)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	holder := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
	b.pids("up", 1)
	for _, c := range []struct {
		code int
		args []string
	}{
		{75, []string{"-n"}},
		{75, []string{"--nonblock"}},
		{75, []string{"--nb"}},
		{75, []string{"-w", "0"}},
		{0, []string{"-n", "-E", "0"}},
		{9, []string{"-n", "--conflict-exit-code", "9"}},
	} {
		r := b.run(append(append([]string{"run"}, c.args...), "job", "--", "touch", "ran")...)
		if r.code != c.code {
			t.Errorf("run %q: exit code %d, want %d; %s", c.args, r.code, c.code, r.stderr)
		}
	}
	if r := b.run("run", "-n", "-q", "job", "--", "true"); r.stderr != "" || r.code != 75 {
		t.Errorf("run -q: exit code %d, stderr %q, want 75 and nothing", r.code, r.stderr)
	}
	r := b.run("run", "-w", "1", "job", "--", "touch", "ran")
	if r.code != 75 || r.took < time.Second || r.took > 2*time.Second {
		t.Errorf("run -w 1: exit code %d after %s, want 75 after about a second", r.code, r.took)
	}
	if _, err := os.Stat(b.path("ran")); err == nil {
		t.Error("a command ran although its lock was held")
	}
	holder.signal(syscall.SIGTERM)
	if code := holder.end(); code != 143 {
		t.Errorf("holder: exit code %d, want 143", code)
	}
	b.free("job")
}

// TestParallelCounter is the reason for locks: 200 increments that read and
// write a file, all at once, and none is lost.
func TestParallelCounter(t *testing.T) {
	t.Parallel()
	const runs = 200
	b := newBox(t)
	b.write("f", "0\n")
	var wg sync.WaitGroup
	slots := make(chan struct{}, 40)
	codes := make([]int, runs)
	for i := range runs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			cmd := b.command("run", "counter", "--", "sh", "-c", "n=$(cat f); echo $((n+1)) >f")
			if err := cmd.Run(); err != nil {
				codes[i] = 1
			}
		})
	}
	wg.Wait()
	for i, code := range codes {
		if code != 0 {
			t.Errorf("run %d failed", i)
		}
	}
	if got := strings.TrimSpace(b.read("f")); got != strconv.Itoa(runs) {
		t.Errorf("counter is %s, want %d", got, runs)
	}
}

// TestStreams: the command's streams are the caller's own descriptors, byte
// for byte, also those above 2, and the wrapper adds nothing.
func TestStreams(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := b.command("run", "-v", "job", "--", "sh", "-c", "cat; printf extra >&3; exec 4>&1; readlink /proc/self/fd/0 /proc/self/fd/4 >&2")
	input := bytes.Repeat([]byte("\x00\xff line\r\n"), 10000)
	file, err := os.Create(b.path("input"))
	if err != nil {
		t.Fatal(err)
	}
	file.Write(input)
	file.Seek(0, 0)
	out, err := os.Create(b.path("output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = file, out, []*os.File{w}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	w.Close()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if got := b.read("output"); got != string(input) {
		t.Errorf("output has %d bytes, want the %d of the input", len(got), len(input))
	}
	extra := make([]byte, 10)
	if n, _ := r.Read(extra); string(extra[:n]) != "extra" {
		t.Errorf("descriptor 3 got %q, want \"extra\"", extra[:n])
	}
	for _, name := range []string{"input", "output"} {
		if !strings.Contains(stderr.String(), b.path(name)) {
			t.Errorf("stderr %q: the command does not have %s itself", stderr.String(), name)
		}
	}
}

func TestNoStdin(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	cmd := b.command("run", "--no-stdin", "job", "--", "readlink", "/proc/self/fd/0")
	cmd.Stdin = strings.NewReader("input")
	if r := b.finish(cmd); r.stdout != "/dev/null\n" {
		t.Errorf("standard input is %q, want /dev/null", r.stdout)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.env = append(b.env, "FENCEHOLD_TOKEN=1", "FENCEHOLD_LOCK=outer lock", "ODD=\xff\xfe")
	r := b.run("run", "--ttl", "20s", "my job", "--", "env")
	env := map[string]string{}
	for line := range strings.Lines(r.stdout) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if _, twice := env[name]; twice {
			t.Errorf("%s is given twice", name)
		}
		env[name] = value
	}
	token, err := strconv.ParseInt(env["FENCEHOLD_TOKEN"], 10, 64)
	if err != nil || token < 2 {
		t.Errorf("FENCEHOLD_TOKEN=%q, want a token", env["FENCEHOLD_TOKEN"])
	}
	holder := env["FENCEHOLD_HOLDER"]
	for name, want := range map[string]string{
		"FENCEHOLD_LOCK": "my job", "FENCEHOLD_TTL_MS": "20000", "FENCEHOLD_BACKEND": "file://" + b.locks,
		"FENCEHOLD_FENCE": env["FENCEHOLD_TOKEN"] + ";holder=" + holder + ";resource=my%20job", "ODD": "\xff\xfe",
	} {
		if env[name] != want {
			t.Errorf("%s=%q, want %q", name, env[name], want)
		}
	}
	if _, err := time.Parse(time.RFC3339, env["FENCEHOLD_ACQUIRED_AT"]); err != nil || len(holder) < 20 {
		t.Errorf("FENCEHOLD_ACQUIRED_AT %v, FENCEHOLD_HOLDER=%q", err, holder)
	}
	if !strings.HasPrefix(env["FENCEHOLD_STACK"], "my+job="+env["FENCEHOLD_TOKEN"]) {
		t.Errorf("FENCEHOLD_STACK=%q, want the name and the token", env["FENCEHOLD_STACK"])
	}
}

// TestNested: an inner run sees its own lock, and one on a lock that is held
// around it is refused instead of waiting for itself.
func TestNested(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.env = append(b.env, "fh="+binary)
	r := b.run("run", "outer", "--", binary, "run", "inner", "--", "sh", "-c", `echo $FENCEHOLD_LOCK $FENCEHOLD_STACK`)
	if fields := strings.Fields(r.stdout); r.code != 0 || len(fields) != 3 || fields[0] != "inner" ||
		!strings.HasPrefix(fields[1], "outer=") || !strings.HasPrefix(fields[2], "inner=") {
		t.Errorf("inner run: exit code %d, output %q", r.code, r.stdout)
	}
	r = b.run("run", "same", "--", binary, "run", "same", "--", "true")
	if r.code != 64 || !strings.Contains(r.stderr, "run around this one") || r.took > 5*time.Second {
		t.Errorf("same lock: exit code %d after %s, %q", r.code, r.took, r.stderr)
	}
	// A process that outlived its run may take the lock again.
	b.write("later", "#!/bin/sh\ntouch begun\nwhile [ ! -e over ]; do sleep 0.02; done\n\"$fh\" run -w 5 again -- touch done\n")
	r = b.run("run", "again", "--", "sh", "-c", "setsid ./later >/dev/null 2>&1 & while [ ! -e begun ]; do sleep 0.02; done")
	b.write("over", "")
	b.exists("done")
	if r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

func TestStatusFile(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, c := range []struct {
		outcome string
		code    float64
		signal  any
		args    []string
	}{
		{"exited", 75, nil, []string{"--", "sh", "-c", "exit 75"}},
		{"signaled", 143, "SIGTERM", []string{"--", "sh", "-c", "kill -TERM $$"}},
		{"max_hold", 79, "SIGTERM", []string{"--max-hold", "0.1", "--", "sleep", "100"}},
	} {
		r := b.run(append([]string{"run", "--status-file", "status", "job"}, c.args...)...)
		var got map[string]any
		if err := json.Unmarshal([]byte(b.read("status")), &got); err != nil {
			t.Fatal(err)
		}
		if got["outcome"] != c.outcome || got["exit_code"] != c.code || float64(r.code) != c.code || got["signal"] != c.signal {
			t.Errorf("run %q: exit code %d, status %v", c.args, r.code, got)
		}
		if token, ok := got["token"].(string); !ok || token == "" || got["lock"] != "job" {
			t.Errorf("run %q: status %v has no token as a string", c.args, got)
		}
	}
	holder := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
	b.pids("up", 1)
	b.run("run", "-n", "-E", "0", "--status-file", "status", "job", "--", "true")
	if got := b.read("status"); !strings.Contains(got, `"outcome":"busy"`) || !strings.Contains(got, `"token":null`) {
		t.Errorf("status of a busy lock: %s", got)
	}
	holder.signal(syscall.SIGTERM)
	holder.end()
}

func TestMinHold(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if r := b.run("run", "--min-hold", "2s", "job", "--", "true"); r.code != 0 || r.took > 1500*time.Millisecond {
		t.Errorf("exit code %d after %s, want 0 without waiting for the time to pass; %s", r.code, r.took, r.stderr)
	}
	b.busy("job")
	if r := b.run("run", "-w", "10", "job", "--", "true"); r.code != 0 {
		t.Errorf("exit code %d after the time has passed, want 0; %s", r.code, r.stderr)
	}
}

// TestB84DescriptorStaysWithKeeper: the command does not inherit the lock, so
// what it leaves behind cannot keep it.
func TestB84DescriptorStaysWithKeeper(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.run("run", "job", "--", "sh", "-c", "ls -l /proc/$$/fd; setsid sleep 30 >/dev/null 2>&1 & echo $! > left")
	if strings.Contains(r.stdout, b.locks) {
		t.Errorf("the command has a file of the lock directory open:\n%s", r.stdout)
	}
	r = b.run("run", "--wait", "2s", "job", "--", "true")
	if r.code != 0 || r.took > time.Second+slack {
		t.Errorf("second run: exit code %d after %s, want 0 within a second", r.code, r.took)
	}
	for _, pid := range b.pids("left", 1) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	// What stays in the process group is ended before the release.
	r = b.run("run", "job", "--", "sh", "-c", "sleep 30 & echo $! > stayed; exit 0")
	if pids := b.pids("stayed", 1); r.code != 0 || !gone(pids...) {
		t.Errorf("exit code %d, left behind and alive: %v", r.code, !gone(pids...))
	}
	b.free("job")
}

func TestTokensRise(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	last := int64(0)
	for range 5 {
		r := b.run("run", "job", "-c", "echo $FENCEHOLD_TOKEN")
		token, err := strconv.ParseInt(strings.TrimSpace(r.stdout), 10, 64)
		if err != nil || token <= last {
			t.Errorf("token %q after %d; %s", r.stdout, last, r.stderr)
		}
		last = token
	}
}

// TestFlockContends: flock(1) on the same file sees the lock.
func TestFlockContends(t *testing.T) {
	t.Parallel()
	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Fatalf("flock(1) is needed: %v", err)
	}
	b := newBox(t)
	r := b.run("run", "job", "--", flock, "-n", b.locks+"/job.lock", "true")
	if r.code != 1 {
		t.Errorf("flock -n under the lock: exit code %d, want 1; %s", r.code, r.stderr)
	}
}
