//go:build unix

package guarded

import (
	"os"
	"os/signal"
	"syscall"
	"time"

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

// surviveBrokenPipes lets a write to a stream whose reader is gone fail, and
// not end this process: without its messages it still has a lock to release. The
// command gets the default action with its exec.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// hungAfter is how long after the release of the lock signals stay caught.
const hungAfter = 2 * time.Second

// letGo gives the signals their default effect when this process is still there
// some time after the lock was released: it hangs on what it has to print, and
// ends by a signal that has come meanwhile, or that will. One that comes sooner
// does not hide how the command has ended.
func (r *run) letGo() {
	time.AfterFunc(hungAfter, func() {
		signal.Reset(deadly()...)
		for {
			select {
			case sig := <-r.signals:
				if ends(sig) {
					_ = unix.Kill(os.Getpid(), number(sig))
				}
			default:
				return
			}
		}
	})
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
