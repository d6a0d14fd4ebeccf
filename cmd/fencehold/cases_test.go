package main_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// moment reads a time that "date +%s%N" has written.
func (b *box) moment(name string) time.Time {
	b.t.Helper()
	ns, err := strconv.ParseInt(strings.TrimSpace(b.read(name)), 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return time.Unix(0, ns)
}

// TestB77FreeSoonAfterTheChild: who waits gets the lock when the command has
// ended on a signal, soon after and not before.
func TestB77FreeSoonAfterTheChild(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "job", "--", "sh", "-c",
		`trap "sleep 0.3; date +%s%N > ended; exit 3" TERM; echo $$ > up; while :; do sleep 0.02; done`)
	b.pids("up", 1)
	waiter := b.start("run", "job", "--", "sh", "-c", "date +%s%N > begun")
	b.waiters("job", 1)
	r.signal(syscall.SIGTERM)
	if code := r.end(); code != 3 {
		t.Errorf("exit code %d, want 3; %s", code, r.stderr)
	}
	if code := waiter.end(); code != 0 {
		t.Fatalf("waiter: exit code %d; %s", code, waiter.stderr)
	}
	if d := b.moment("begun").Sub(b.moment("ended")); d < 0 || d > 500*time.Millisecond+slack {
		t.Errorf("the next command began %v after the end of the first", d)
	}
}

// TestB78NextBeginsAfterTheLast: the wrapper is frozen past its lease; the
// whole group of its command is gone when the next one begins.
func TestB78NextBeginsAfterTheLast(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "--url", b.leases(), "--ttl", "2s", "job", "--", "sh", "-c", family)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	check := "echo > begun"
	for _, pid := range pids {
		check += "; grep -q '^State:.[RSDT]' /proc/" + strconv.Itoa(pid) + "/status 2>/dev/null && echo " + strconv.Itoa(pid) + " >> overlap"
	}
	waiter := b.start("run", "--url", b.leases(), "job", "--", "sh", "-c", check+"; exit 0")
	b.waiters("job", 1)
	r.signal(syscall.SIGSTOP)
	if code := waiter.end(); code != 0 {
		t.Errorf("waiter: exit code %d; %s", code, waiter.stderr)
	}
	if text, err := os.ReadFile(b.path("overlap")); err == nil {
		t.Errorf("alive when the next command began: %s", text)
	}
	b.exists("begun")
	r.signal(syscall.SIGCONT)
	if code := r.end(); code != 79 || strings.Contains(r.stderr.String(), "goroutine") {
		t.Errorf("exit code %d, want 79; %s", code, r.stderr)
	}
}

// TestB80KilledRun: a run that was killed leaves a lease for its time; who it
// was is seen, and its lock is removed by its id.
func TestB80KilledRun(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.env = append(b.env, "FENCEHOLD_URL="+b.leases())
	r := b.start("run", "--ttl", "10m", "job", "--", "sh", "-c", "echo $$ > up; exec sleep 100")
	pids := b.pids("up", 1)
	r.signal(syscall.SIGKILL)
	r.end()
	within(t, 300*time.Millisecond+slack, "the command is gone", func() bool { return gone(pids...) })
	got := b.inspect("job")
	host, _ := os.Hostname()
	ttl, _ := got["ttl_ms"].(float64)
	if got["held"] != true || got["host"] != host || got["pid"] != float64(r.Process.Pid) || ttl <= 0 || ttl > 600000 {
		t.Fatalf("status %v, want host, pid %d and at most 10 minutes", got, r.Process.Pid)
	}
	id, _ := got["holder"].(string)
	for _, c := range []struct {
		holder string
		code   int
		says   string
	}{{"WRONG", 79, "not held by WRONG"}, {id, 0, ""}, {id, 79, "not held"}} {
		u := b.run("unlock", "--force", "--holder", c.holder, "job")
		if u.code != c.code || !strings.Contains(u.stderr, c.says) {
			t.Errorf("unlock of %s: exit code %d, want %d; %s", c.holder, u.code, c.code, u.stderr)
		}
		if c.code != 0 && c.holder == "WRONG" && b.inspect("job")["holder"] != id {
			t.Error("a wrong id changed the lock")
		}
	}
	b.free("job")
}
