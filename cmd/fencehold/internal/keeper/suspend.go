//go:build unix

package keeper

import (
	"os"
	"syscall"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"golang.org/x/sys/unix"
)

// nudgeAfter is how long a wrapper may be stopped while the command runs.
const nudgeAfter = 100 * time.Millisecond

// desertEvery is how often to look whether the shell of a stopped job is gone.
const desertEvery = 500 * time.Millisecond

// suspend stops the command with the wrapper. A lease of which the time goes
// on may end meanwhile, so its deadline counts; a pinned one may not.
func (k *keeper) suspend(sig syscall.Signal) {
	if sig != 0 {
		k.target.Signal(sig)
	}
	// The signal comes first: a deadline that passes in between finds the command
	// stopped, and a pinned one unharmed.
	k.ladder.paused = k.command.Pinned
	k.paused = time.Now()
}

// nudge continues a wrapper that is stopped although the command is not. In
// the foreground of a terminal both get the same signals, but the wrapper acts
// on them later: it may stop itself after it was continued, and would never
// know.
// Outside a terminal the order of these signals is that of who sends them by kill,
// and is not put right.
func (k *keeper) nudge() {
	if k.paused.IsZero() || k.command.Foreign == 0 || k.exited {
		return
	}
	k.poll.Reset(nudgeAfter / 2)
	if !k.runs() {
		// The time begins anew with each look: the wrapper has to be seen stopped beside
		// a running command for the whole of it, not once by chance.
		k.paused = time.Now()
		k.desert()
		return
	}
	if parent := os.Getppid(); time.Since(k.paused) > nudgeAfter && k.halted(parent) {
		_ = unix.Kill(parent, unix.SIGCONT)
	}
}

// desert tells a stopped job that its shell is gone, by the signals that the
// kernel has for that. The kernel itself leaves out a group in which anybody
// has a parent of another group in the session, as the command has here.
func (k *keeper) desert() {
	if time.Since(k.looked) < desertEvery {
		return
	}
	k.looked = time.Now()
	session, err := unix.Getsid(0)
	if err != nil || !process.Orphaned(k.command.Foreign, session, os.Getpid()) {
		return
	}
	group := process.Group(k.command.Foreign)
	// HUP stays pending while the job is stopped, and is what it acts on first.
	group.Signal(unix.SIGHUP)
	group.Signal(unix.SIGCONT)
}

// runs reports whether the command acts. A shell that waits for a child to
// execute a program, which the same signal stopped, is not stopped itself, but
// cannot act.
func (k *keeper) runs() bool {
	s, err := process.ReadStat(k.pid)
	return err == nil && (s.State == 'R' || s.State == 'S')
}

// halted reports whether a signal stopped the process.
// One that a debugger has stopped is not: it is the debugger's to continue.
func (k *keeper) halted(pid int) bool {
	s, err := process.ReadStat(pid)
	return err == nil && s.Stopped()
}

// resume undoes suspend. In the foreground of a terminal the shell continues
// the command, unless only the wrapper was continued.
func (k *keeper) resume(always bool) {
	k.ladder.paused, k.paused = false, time.Time{}
	if always || k.halted(k.pid) {
		k.target.Signal(unix.SIGCONT)
	}
}
