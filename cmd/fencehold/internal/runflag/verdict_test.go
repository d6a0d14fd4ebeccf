package runflag_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
)

// TestVerdict: the caller learns from the code which of the two ended, and how.
func TestVerdict(t *testing.T) {
	t.Parallel()
	exited := func(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }
	for _, c := range []struct {
		args   []string
		result guarded.Result
		want   int
	}{
		{nil, guarded.Result{Outcome: guarded.Exited, Ran: true}, 0},
		{nil, guarded.Result{Outcome: guarded.Exited, Ran: true, Status: exited(3)}, 3},
		{nil, guarded.Result{Outcome: guarded.Signaled, Ran: true, Status: syscall.WaitStatus(syscall.SIGKILL)}, 137},
		{nil, guarded.Result{Outcome: guarded.Lost, Ran: true, Status: exited(3)}, 79},
		{nil, guarded.Result{Outcome: guarded.TooLong, Ran: true}, 79},
		{[]string{"--lost-exit-code", "9"}, guarded.Result{Outcome: guarded.Lost}, 9},
		{[]string{"--on-lost", "warn"}, guarded.Result{Outcome: guarded.Lost, Ran: true, Status: exited(3)}, 3},
		{[]string{"--on-lost", "warn"}, guarded.Result{Outcome: guarded.Lost, Ran: true}, 79},
		{[]string{"--on-lost", "warn"}, guarded.Result{Outcome: guarded.TooLong, Ran: true, Status: exited(3)}, 79},
		{nil, guarded.Result{Outcome: guarded.Interrupted, Signal: syscall.SIGINT}, 130},
		{nil, guarded.Result{Outcome: guarded.NotStarted, Err: os.ErrNotExist}, 127},
		{nil, guarded.Result{Outcome: guarded.NotStarted, Err: syscall.EACCES}, 126},
		{nil, guarded.Result{Outcome: guarded.Failed, Err: errors.New("keeper")}, 70},
		{nil, guarded.Result{Outcome: guarded.NotAcquired, Err: fencehold.ErrHeld}, 75},
		{[]string{"-E", "0"}, guarded.Result{Outcome: guarded.NotAcquired, Err: fencehold.ErrHeld}, 0},
		{nil, guarded.Result{Outcome: guarded.NotAcquired, Err: fencehold.ErrLost}, 79},
		{nil, guarded.Result{Outcome: guarded.NotAcquired, Err: fencehold.ErrUnavailable}, 69},
		{nil, guarded.Result{Outcome: guarded.NotAcquired}, 70},
	} {
		f := parse(t, c.args...)
		spec := guarded.Spec{Args: []string{"cmd"}, WarnOnly: f.OnLost == "warn"}
		if err := f.Verdict(spec, c.result); exitcode.Of(err) != c.want {
			t.Errorf("%q, %+v: exit code %d (%v), want %d", c.args, c.result, exitcode.Of(err), err, c.want)
		}
	}
}

// TestOptions: what the flags ask for is what a client makes of them.
func TestOptions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{"": 1, "-n": 2, "-w=0": 2, "--min-hold=1m": 2, "--label=a=b": 2} {
		f := parse(t, strings.Fields(line)...)
		if got := len(f.Options(1, "")); got != want {
			t.Errorf("%q: %d options, want %d", line, got, want)
		}
		if got := len(f.Options(1, "me")); got != want+1 {
			t.Errorf("%q with an owner: %d options, want %d", line, got, want+1)
		}
	}
}
