//go:build unix

package guarded

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// deadly are the signals that would end this process.
func deadly() []os.Signal {
	return []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}
}

// harmless are the signals that only matter once there is a command.
// To catch one takes time, for which the command would have to wait: so they are left
// until it runs.
func harmless() []os.Signal {
	return []os.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT, unix.SIGWINCH, unix.SIGCHLD}
}

// catch lets signals arrive on the channel. One that was ignored when this
// program began stays ignored, here and in the command, as nohup wants it.
func catch(signals chan<- os.Signal, which []os.Signal) {
	for _, sig := range which {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
}

// ends reports whether sig ends a run that waits for its lock.
func ends(sig os.Signal) bool {
	return sig == unix.SIGINT || sig == unix.SIGTERM || sig == unix.SIGHUP || sig == unix.SIGQUIT
}

// pauses reports whether sig stops a job.
func pauses(sig os.Signal) bool {
	return sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// fromTerminal reports whether sig reaches the command without being passed
// on, because the terminal sends it to everybody in the foreground.
// The runtime does not tell who sent a signal, so one that was sent by kill to this
// process alone is taken for a key, too.
func fromTerminal(sig os.Signal) bool {
	return sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGWINCH
}

// pause stops this process until it is continued.
// SIGSTOP and not the signal that came: that one is caught, and to let go of it first
// would open a gap in which another one is lost.
func pause() { _ = unix.Kill(os.Getpid(), unix.SIGSTOP) }

// number is the signal as the kernel knows it.
func number(sig os.Signal) syscall.Signal { return sig.(syscall.Signal) }
