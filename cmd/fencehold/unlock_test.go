package main_test

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
)

// inspect returns the JSON of a lock.
func (b *box) inspect(lock string) map[string]any {
	b.t.Helper()
	r := b.run("inspect", "--json", lock)
	var got map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		b.t.Fatalf("%v: exit code %d, %s%s", err, r.code, r.stdout, r.stderr)
	}
	return got
}

// TestB80ExactlyOne: who holds the lock is seen from outside, and a forced
// release needs the right id, once.
func TestB80ExactlyOne(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if r := b.run("acquire", "--ttl", "10m", "--owner", "the dead one", "job"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	before := b.inspect("job")
	host, _ := os.Hostname()
	ttl, _ := before["ttl_ms"].(float64)
	if before["owner"] != "the dead one" || before["host"] != host || before["pid"] == nil || ttl <= 0 || ttl > 600000 {
		t.Errorf("status %v, want owner, host, pid and at most 10 minutes", before)
	}
	id := before["holder"].(string)
	unlock := func(holder string, want int) {
		t.Helper()
		if r := b.run("unlock", "--force", "--holder", holder, "job"); r.code != want || (want == 0) != (r.stderr == "") {
			t.Errorf("unlock of %s: exit code %d, want %d; %s", holder, r.code, want, r.stderr)
		}
	}
	unlock("WRONG", 79)
	if got := b.inspect("job"); got["holder"] != id {
		t.Errorf("after a wrong id the lock is %v", got)
	}
	unlock(id, 0)
	b.free("job")
	unlock(id, 79)

	next := b.start("run", "job", "--", "sh", "-c", "echo $$ > up; while [ ! -e stop ]; do sleep 0.02; done; exit 3")
	b.pids("up", 1)
	unlock(id, 79)
	b.write("stop", "")
	if code := next.end(); code != 3 || next.stderr.String() != "" {
		t.Errorf("the new holder: exit code %d, %q, want 3 and not a word", code, next.stderr)
	}
}

// TestStatusOfRun: a run is seen with all that it says of itself, and one that
// is killed holds nothing.
func TestStatusOfRun(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "--owner", "nightly", "--label", "team=infra", "--label", "empty=", "job", "--",
		"sh", "-c", "echo $$ > up; exec sleep 100")
	b.pids("up", 1)
	got := b.inspect("job")
	labels, _ := got["labels"].(map[string]any)
	if got["held"] != true || got["owner"] != "nightly" || got["pid"] != float64(r.Process.Pid) ||
		labels["team"] != "infra" || labels["empty"] != "" || len(labels) != 2 {
		t.Errorf("status %v", got)
	}
	r.signal(syscall.SIGKILL)
	r.end()
	eventually(t, "the lock is free", func() bool { return b.inspect("job")["held"] == false })
}

// TestB57OddNames: a name is taken as it is or refused, and shown so that it
// does not upset a terminal; no file is made outside the directory.
func TestB57OddNames(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, name := range []string{
		" ", "a", " a", "a ", "A", "x/y", "../../x", ".", "..", "é", "e\u0301", strings.Repeat("n", 255), "-", "%", "a\u202eb",
	} {
		r := b.run("run", "--", name, "sh", "-c", `printf %s "$FENCEHOLD_LOCK"`)
		if r.code != 0 || r.stdout != name {
			t.Errorf("%q: exit code %d, the command saw %q; %s", name, r.code, r.stdout, r.stderr)
		}
	}
	for _, name := range []string{"", "a\nb", "a\x1bb", "\xff\xfe", strings.Repeat("n", 10000)} {
		if r := b.run("run", "--", name, "true"); r.code != 64 || strings.Count(r.stderr, "\n") != 1 ||
			strings.Contains(r.stderr, "\x1b") {
			t.Errorf("%.20q: exit code %d, %.200q, want 64 and one line", name, r.code, r.stderr)
		}
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries beside the lock directory (%v)", len(entries), err)
	}
	b.run("acquire", "--ttl", "1m", "tab \u202e name")
	if r := b.run("ls"); strings.Contains(r.stdout, "\u202e") || !strings.Contains(r.stdout, `\u202e`) {
		t.Errorf("list %q shows a character that turns the line around", r.stdout)
	}
}
