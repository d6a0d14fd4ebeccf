package main_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leases is the URL of the box's locks in lease mode: they run out by time, as
// those of a server do.
func (b *box) leases() string { return "file://" + b.locks + "?mode=lease" }

// TestExpiryRenewed: a command that takes many times the lease ends by itself.
func TestExpiryRenewed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.run("run", "--url", b.leases(), "--ttl", "1s", "job", "--", "sh", "-c", "sleep 4; exit 3")
	if r.code != 3 || r.stderr != "" {
		t.Errorf("exit code %d, %q, want 3 and not a word", r.code, r.stderr)
	}
}

// TestExpiryFrozen: the keeper ends the command before the lease ends at the
// service, first by TERM, then by KILL.
func TestExpiryFrozen(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		`trap "echo > told; exit 0" TERM; echo $$ > up; while :; do sleep 0.02; done`,
		`trap "echo > told" TERM; echo $$ > up; while :; do sleep 0.02; done`,
	} {
		b := newBox(t)
		r := b.start("run", "--url", b.leases(), "--ttl", "2s", "job", "--", "sh", "-c", script)
		pids := b.pids("up", 1)
		r.signal(syscall.SIGSTOP)
		within(t, 2*time.Second, "the command is gone", func() bool { return gone(pids...) })
		if _, err := os.Stat(b.path("told")); err != nil {
			t.Error("the command was killed and not told before")
		}
		r.signal(syscall.SIGCONT)
		if code := r.end(); code != 79 || strings.Count(r.stderr.String(), "fencehold: ") != 1 {
			t.Errorf("exit code %d, %q, want 79 and one line", code, r.stderr)
		}
	}
}

// TestExpirySuspended: a command that was stopped with its wrapper is dead
// before it could be continued without the lock.
func TestExpirySuspended(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start(append([]string{"run", "--url", b.leases(), "--ttl", "1s", "job", "--"}, b.helper(0, syscall.SIGCONT)...)...)
	pids := b.pids("up", 1)
	r.signal(syscall.SIGTSTP)
	within(t, time.Second+slack, "the command is gone", func() bool { return gone(pids...) })
	r.signal(syscall.SIGCONT)
	if code := r.end(); code != 79 {
		t.Errorf("exit code %d, want 79; %s", code, r.stderr)
	}
}

// TestExpiryWrapperKilled: there is no descriptor that keeps the lock, and
// still nothing survives.
func TestExpiryWrapperKilled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start("run", "--url", b.leases(), "job", "--", "sh", "-c", family)
	pids := append(b.pids("up", 2), b.pids("kid", 1)...)
	r.signal(syscall.SIGKILL)
	within(t, 300*time.Millisecond+slack, "everything is gone", func() bool { return gone(pids...) })
	r.end()
}
