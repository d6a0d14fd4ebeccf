//go:build unix

package guarded

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"golang.org/x/sys/unix"
)

// errSilent is the end of a keeper that this process had to end itself.
var errSilent = errors.New("keeper process did not answer and was killed")

// answerTime is how long after the grace the keeper may take to say that it
// has killed the command, and again after it was continued.
const answerTime = 500 * time.Millisecond

// await expects the keeper to answer within the grace that it was told of. The
// first order counts: a later one gives it no more time.
func (r *run) await() {
	if r.silence == nil && r.keeper.PID() != 0 {
		r.silence = time.After(r.spec.Grace + answerTime)
	}
}

// wake deals with a keeper that is silent, such as one that was frozen: it is
// continued, and killed if that does not help. The command goes with it, see
// widowed.
func (r *run) wake() {
	pid := r.keeper.PID()
	// If this process was the frozen one, the answers wait beside the timer, and are
	// read before it rings again.
	r.silence = time.After(answerTime)
	if !r.woken {
		r.woken = true
		_ = unix.Kill(pid, unix.SIGCONT)
		return
	}
	// Only this goroutine reaps: the number cannot pass to another process in between.
	if s, err := process.ReadStat(pid); err == nil && s.Parent == os.Getpid() {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// remember notes the processes that were here before the command.
// The keeper is not among them: its children come to this process when it ends, and
// are the command's.
func (r *run) remember() {
	r.before = slices.DeleteFunc(process.Existing(), func(s process.Stat) bool { return s.PID == r.keeper.PID() })
}
