//go:build unix

package keeper

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// readyAfter is how long a keeper without a command puts off what costs time.
const readyAfter = 20 * time.Millisecond

// swallow keeps signals to all processes of a service or a terminal from
// ending the keeper before the command. They are caught, not ignored: what is
// ignored here would be ignored in the command. What was ignored when the
// process began stays so.
func (k *keeper) swallow() {
	k.notBeforeFork()
	drain := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{
		unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
	} {
		if !signal.Ignored(sig) {
			signal.Notify(drain, sig)
		}
	}
}

// notBeforeFork waits until the command runs, or is not to be expected soon:
// catching signals takes milliseconds, for which the command need not wait.
func (k *keeper) notBeforeFork() {
	select {
	case <-k.forked:
	case <-k.quit:
	case <-time.After(readyAfter):
	}
}

// watch lets the ends of children wake the keeper. The command may have ended
// before it begins: so it wakes the keeper once itself.
func (k *keeper) watch() {
	k.notBeforeFork()
	signal.Notify(k.changes, unix.SIGCHLD)
	select {
	case k.changes <- unix.SIGCHLD:
	default:
	}
}
