//go:build unix

// Package exitcode decides with which code the command ends, and so what its
// caller can tell from it.
//
// An error says what went wrong; most have their code by what they are. Where a
// flag or the outcome of a run decides, the error is wrapped by [With].
package exitcode

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"github.com/fencehold/fencehold/redislock"
)

// The exit codes that are not a command's own. Those between 64 and 78 have
// the meaning that sysexits.h gives them.
const (
	Usage       = 64
	Unavailable = 69
	Software    = 70
	CantCreate  = 73
	IOErr       = 74
	Busy        = 75
	NoPerm      = 77
	Config      = 78
	Lost        = 79
	NotExec     = 126
	NotFound    = 127
	Signal      = 128 // plus the number of the signal
)

// A UsageError is a command line that breaks a rule.
type UsageError struct {
	// Command is the one whose help tells more.
	Command string
	// See tells more instead, unless it is empty.
	See string
	// Err is the rule.
	Err error
}

// Error ends with where to read more.
func (e *UsageError) Error() string {
	return e.Err.Error() + "; see " + cmp.Or(e.See, e.Command+" --help")
}

// Unwrap returns the rule that was broken.
func (e *UsageError) Unwrap() error { return e.Err }

// An Error is an exit code that was decided on.
type Error struct {
	// Code is the exit code.
	Code int
	// Err is what there is to say, nil for nothing.
	Err error
}

// Error is empty where the code says it all, as for that of a command.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns what there is to say, or nil.
func (e *Error) Unwrap() error { return e.Err }

// With returns an error with the exit code that was decided on. err is what
// there is to say, nil for nothing.
func With(code int, err error) error { return &Error{Code: code, Err: err} }

// An Interruption is the cause of a context that a signal ended.
type Interruption struct {
	// Signal is the one that came.
	Signal syscall.Signal
}

// Error names the signal.
func (i Interruption) Error() string { return "interrupted: " + i.Signal.String() }

// Of is the exit code for err. What was decided counts before what the error is:
// a lock that is held is 75 unless -E says otherwise, and the text stays the same.
func Of(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if i, ok := errors.AsType[Interruption](err); ok {
		return Signal + int(i.Signal)
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return Usage
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		return Config
	}
	if _, ok := errors.AsType[*process.LookupError](err); ok {
		return lookupCode(err)
	}
	return serviceCode(err)
}

// serviceCode is the exit code for an error of the lock service. The order
// matters: a directory that cannot be made is told apart from credentials that
// were refused by the path in the error, and both may be wrapped as a service
// that is not available.
func serviceCode(err error) int {
	switch {
	case isOutput(err):
		return IOErr
	case errors.Is(err, fencehold.ErrHeld):
		return Busy
	case errors.Is(err, fencehold.ErrLost), errors.Is(err, fencehold.ErrReleased):
		return Lost
	case errors.Is(err, fencehold.ErrInvalid), errors.Is(err, errors.ErrUnsupported):
		return Usage
	case isFile(err):
		return CantCreate
	case errors.Is(err, fs.ErrPermission), isRefused(err):
		return NoPerm
	case errors.Is(err, fencehold.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	}
	return Software
}

// isRefused reports whether a Redis server refused a password, or a right.
func isRefused(err error) bool {
	answered, ok := errors.AsType[redislock.ServerError](err)
	code, _, _ := strings.Cut(string(answered), " ")
	return ok && (code == "WRONGPASS" || code == "NOAUTH" || code == "NOPERM")
}

// isOutput reports whether err is about standard output.
func isOutput(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Path == os.Stdout.Name()
}

// isFile reports whether err is about a file or a directory, as the system
// reports it. What it reports about a connection looks alike, and is none.
func isFile(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return false
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*os.LinkError](err); ok {
		return true
	}
	_, ok := errors.AsType[*os.SyscallError](err)
	return ok
}

// lookupCode is the exit code for a command that cannot be executed: the codes
// are those of every shell.
func lookupCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return NotFound
	}
	return NotExec
}
