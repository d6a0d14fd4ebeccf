//go:build unix

package exitcode_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"github.com/fencehold/fencehold/redislock"
)

// TestExitCodeOfError: each class of error has its code, however deep it is
// wrapped.
func TestExitCodeOfError(t *testing.T) {
	t.Parallel()
	path := &fs.PathError{Op: "mkdir", Path: "/x", Err: fs.ErrPermission}
	call := os.NewSyscallError("flock", syscall.EIO)
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), exitcode.Software},
		{&exitcode.UsageError{Command: "fencehold", Err: errors.New("rule")}, exitcode.Usage},
		{&config.Error{Source: "x", Err: errors.New("rule")}, exitcode.Config},
		{&process.LookupError{Name: "x", Err: fs.ErrNotExist}, exitcode.NotFound},
		{&process.LookupError{Name: "x", Err: fs.ErrPermission}, exitcode.NotExec},
		{exitcode.Interruption{Signal: syscall.SIGTERM}, 143},
		{exitcode.Interruption{Signal: syscall.SIGINT}, 130},
		{exitcode.With(9, nil), 9},
		{exitcode.With(9, &fencehold.HeldError{}), 9},
		{fencehold.ErrHeld, exitcode.Busy},
		{&fencehold.HeldError{}, exitcode.Busy},
		{&fencehold.LostError{Reason: fencehold.ReasonDeleted}, exitcode.Lost},
		{fencehold.ErrReleased, exitcode.Lost},
		{fencehold.ErrInvalid, exitcode.Usage},
		{errors.ErrUnsupported, exitcode.Usage},
		{fencehold.ErrUnavailable, exitcode.Unavailable},
		{context.DeadlineExceeded, exitcode.Unavailable},
		{fs.ErrPermission, exitcode.NoPerm},
		{fmt.Errorf("%w: %w", fencehold.ErrUnavailable, redislock.ServerError("NOPERM no")), exitcode.NoPerm},
		{redislock.ServerError("WRONGPASS no"), exitcode.NoPerm},
		{redislock.ServerError("NOAUTH no"), exitcode.NoPerm},
		{fmt.Errorf("%w: %w", fencehold.ErrUnavailable, redislock.ServerError("OOM no")), exitcode.Unavailable},
		{path, exitcode.CantCreate},
		{fmt.Errorf("%w: %w", fencehold.ErrUnavailable, path), exitcode.CantCreate},
		{&fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.ENOSPC}, exitcode.IOErr},
		{&os.LinkError{Op: "rename", Old: "/x", New: "/y", Err: syscall.ENOSPC}, exitcode.CantCreate},
		{call, exitcode.CantCreate},
		{fmt.Errorf("%w: %w", fencehold.ErrUnavailable, &net.OpError{Op: "dial", Err: call}), exitcode.Unavailable},
	} {
		for _, err := range []error{c.err, &fencehold.Error{Op: "acquire", Err: c.err}} {
			if c.err == nil {
				err = nil
			}
			if got := exitcode.Of(err); got != c.want {
				t.Errorf("exit code of %v (%T) is %d, want %d", err, c.err, got, c.want)
			}
		}
	}
}

func TestUsageErrorNamesHelp(t *testing.T) {
	t.Parallel()
	err := &exitcode.UsageError{Command: "fencehold run", Err: errors.New("rule")}
	if want := "rule; see fencehold run --help"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
