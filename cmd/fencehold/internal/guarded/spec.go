//go:build unix

// Package guarded runs a command while a lock is held: it is the wrapper's
// part of "fencehold run".
//
// One goroutine owns the state of a run, from the first signal that may come
// to the release of the lock. It never starts the command itself, see package
// keeper, and releases the lock only after the keeper has said that nobody
// who belongs to the command is left.
package guarded

import (
	"context"
	"syscall"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/keeper"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/notice"
)

// A Spec says what to run under which lock.
type Spec struct {
	// Lock is the name of the lock.
	Lock string
	// Open connects to the lock service.
	Open func(context.Context, ...fencehold.Option) (*fencehold.Client, error)
	// Options are how the lock is acquired.
	Options []fencehold.Option
	// Path is the file to execute, Args its arguments with the command's
	// name, Env its environment without our variables.
	Path string
	Args []string
	Env  []string
	// Grace is the time between Signal and KILL.
	Grace time.Duration
	// Signal tells the command to end.
	Signal syscall.Signal
	// MaxHold ends the command after that long; 0 means never.
	MaxHold time.Duration
	// WarnOnly lets the command go on when the lock is lost.
	WarnOnly bool
	// Terminal says that the command shares the wrapper's process group.
	Terminal bool
	// NoStdin connects standard input to /dev/null.
	NoStdin bool
	// Keeper is a keeper process that was started in advance; nil for none.
	Keeper *keeper.Keeper
	// NoKeeper does without the keeper process.
	NoKeeper bool
	// Notices is where messages go.
	Notices *notice.Printer
}

// An Outcome is one of the ways in which a run ends.
type Outcome string

// The outcomes.
const (
	// Exited: the command ran to its own end.
	Exited Outcome = "exited"
	// Signaled: a signal ended the command.
	Signaled Outcome = "signaled"
	// Lost: the lock was lost while the command ran.
	Lost Outcome = "lost"
	// TooLong: the command was ended for MaxHold.
	TooLong Outcome = "max_hold"
	// NotAcquired: the lock could not be had; Result.Err says why.
	NotAcquired Outcome = "not_acquired"
	// Interrupted: a signal came before the command was started.
	Interrupted Outcome = "interrupted"
	// NotStarted: the command could not be executed; Result.Err says why.
	NotStarted Outcome = "not_started"
	// Failed: this program failed; Result.Err says how.
	Failed Outcome = "failed"
)

// Result is how a run ended.
type Result struct {
	// Outcome tells which of the other fields count.
	Outcome Outcome
	// Ran says that the command ended with Status.
	Ran    bool
	Status syscall.WaitStatus
	// Signal interrupted the run before the command was started.
	Signal syscall.Signal
	// Token is that of the lease, 0 if there was none.
	Token fencehold.Token
	// Wait and Hold are how long the run waited for the lock and had it.
	Wait, Hold time.Duration
	// Err is what went wrong, if anything did.
	Err error
}
