//go:build unix

package main

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// The exit codes that are not a command's own. Those between 64 and 78 have
// the meaning that sysexits.h gives them.
const (
	codeUsage       = 64
	codeUnavailable = 69
	codeSoftware    = 70
	codeCantCreate  = 73
	codeBusy        = 75
	codeNoPerm      = 77
	codeConfig      = 78
	codeLost        = 79
	codeNotExec     = 126
	codeNotFound    = 127
	codeSignal      = 128 // plus the number of the signal
)

// A usageError is a command line that breaks a rule.
type usageError struct {
	command string // the help of which tells more
	err     error
}

// Error ends with where to read more.
func (e *usageError) Error() string { return e.err.Error() + "; see " + e.command + " --help" }

// Unwrap returns the rule that was broken.
func (e *usageError) Unwrap() error { return e.err }

// An exitError is an exit code that was decided on.
type exitError struct {
	code int
	err  error // what there is to say, nil for nothing
}

// Error is empty where the code says it all, as for that of a command.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns what there is to say, or nil.
func (e *exitError) Unwrap() error { return e.err }

// An interruption is the cause of a context that a signal ended.
type interruption struct{ signal syscall.Signal }

// Error names the signal.
func (i interruption) Error() string { return "interrupted: " + i.signal.String() }

// exitCode is the exit code for err.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if i, ok := errors.AsType[interruption](err); ok {
		return codeSignal + int(i.signal)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return codeUsage
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		return codeConfig
	}
	if _, ok := errors.AsType[*process.LookupError](err); ok {
		return lookupCode(err)
	}
	return serviceCode(err)
}

// serviceCode is the exit code for an error of the lock service.
func serviceCode(err error) int {
	_, path := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, fencehold.ErrHeld):
		return codeBusy
	case errors.Is(err, fencehold.ErrLost), errors.Is(err, fencehold.ErrReleased):
		return codeLost
	case errors.Is(err, fencehold.ErrInvalid), errors.Is(err, errors.ErrUnsupported):
		return codeUsage
	case path:
		return codeCantCreate
	case errors.Is(err, fs.ErrPermission):
		return codeNoPerm
	case errors.Is(err, fencehold.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return codeUnavailable
	}
	return codeSoftware
}

// lookupCode is the exit code for a command that cannot be executed.
func lookupCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return codeNotFound
	}
	return codeNotExec
}
