//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// TestExitCodeOfError: each class of error has its code, however deep it is
// wrapped.
func TestExitCodeOfError(t *testing.T) {
	t.Parallel()
	path := &fs.PathError{Op: "mkdir", Path: "/x", Err: fs.ErrPermission}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), codeSoftware},
		{&usageError{"fencehold", errors.New("rule")}, codeUsage},
		{&config.Error{Source: "x", Err: errors.New("rule")}, codeConfig},
		{&process.LookupError{Name: "x", Err: fs.ErrNotExist}, codeNotFound},
		{&process.LookupError{Name: "x", Err: fs.ErrPermission}, codeNotExec},
		{interruption{syscall.SIGTERM}, 143},
		{interruption{syscall.SIGINT}, 130},
		{&exitError{9, nil}, 9},
		{&exitError{9, &fencehold.HeldError{}}, 9},
		{fencehold.ErrHeld, codeBusy},
		{&fencehold.HeldError{}, codeBusy},
		{&fencehold.LostError{Reason: fencehold.ReasonDeleted}, codeLost},
		{fencehold.ErrReleased, codeLost},
		{fencehold.ErrInvalid, codeUsage},
		{errors.ErrUnsupported, codeUsage},
		{fencehold.ErrUnavailable, codeUnavailable},
		{context.DeadlineExceeded, codeUnavailable},
		{fs.ErrPermission, codeNoPerm},
		{path, codeCantCreate},
		{fmt.Errorf("%w: %w", fencehold.ErrUnavailable, path), codeCantCreate},
	} {
		for _, err := range []error{c.err, &fencehold.Error{Op: "acquire", Err: c.err}} {
			if c.err == nil {
				err = nil
			}
			if got := exitCode(err); got != c.want {
				t.Errorf("exit code of %v (%T) is %d, want %d", err, c.err, got, c.want)
			}
		}
	}
}

func TestUsageErrorNamesHelp(t *testing.T) {
	t.Parallel()
	err := &usageError{"fencehold run", errors.New("rule")}
	if want := "rule; see fencehold run --help"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
