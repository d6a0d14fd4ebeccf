//go:build unix

package runflag

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
)

// Verdict is the error for the result, nil for exit code 0.
func (f *Flags) Verdict(spec guarded.Spec, r guarded.Result) error {
	switch r.Outcome {
	case guarded.Exited, guarded.Signaled:
		return exitcode.With(commandCode(r), nil)
	case guarded.TooLong:
		return exitcode.With(f.LostCode, nil)
	case guarded.Lost:
		// The command has gone on without the lock, and a code of 0 would claim success.
		if spec.WarnOnly && r.Ran && commandCode(r) != 0 {
			return exitcode.With(commandCode(r), nil)
		}
		return exitcode.With(f.LostCode, nil)
	case guarded.Interrupted:
		return exitcode.Interruption{Signal: r.Signal}
	case guarded.NotStarted:
		return exitcode.With(notStarted(r.Err), fmt.Errorf("%s: %w", spec.Args[0], r.Err))
	case guarded.Failed:
		return exitcode.With(exitcode.Software, r.Err)
	}
	return f.NotAcquired(r.Err)
}

// NotAcquired gives an error of the acquisition the code that the flags want.
func (f *Flags) NotAcquired(err error) error {
	switch {
	case errors.Is(err, fencehold.ErrHeld):
		return exitcode.With(f.BusyCode, err)
	case errors.Is(err, fencehold.ErrLost):
		return exitcode.With(f.LostCode, err)
	}
	return cmp.Or(err, exitcode.With(exitcode.Software, errors.New("no outcome")))
}

// commandCode is the exit code of a shell for what became of the command.
func commandCode(r guarded.Result) int {
	if r.Status.Signaled() {
		return exitcode.Signal + int(r.Status.Signal())
	}
	return r.Status.ExitStatus()
}

// notStarted is a shell's exit code for a command that could not be executed
// after the lock was acquired, such as a script whose interpreter is missing.
func notStarted(err error) int {
	if errors.Is(err, os.ErrNotExist) {
		return exitcode.NotFound
	}
	return exitcode.NotExec
}
