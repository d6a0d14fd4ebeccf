//go:build unix

package guarded

import (
	"context"
	"errors"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"golang.org/x/sys/unix"
)

// releaseTime bounds the release of the lock and the parting from the keeper:
// the command is gone by then.
const (
	releaseTime = 5 * time.Second
	partingTime = time.Second
	flushTime   = time.Second
)

// lose deals with a lease that ended while the command ran.
func (r *run) lose(err error) {
	if r.spec.WarnOnly {
		if r.result.Err == nil {
			r.result.Err = err
			r.spec.Notices.Warn("lock %q: %s; the command goes on", r.spec.Lock, reason(err))
		}
		return
	}
	r.end(Lost, err)
}

// end stops the command and remembers why. The first reason counts.
func (r *run) end(how Outcome, err error) {
	// The keeper hears of it before anybody else. Asked again for a later reason, it
	// only ever shortens the grace.
	r.keeper.Stop(r.spec.Signal, r.spec.Grace)
	r.await()
	if r.result.Err == nil && !r.result.Ran {
		r.result.Err = err
		r.verdict = how
		r.spec.Notices.Warn("lock %q: %s; stopping the command", r.spec.Lock, reason(err))
	}
}

// reason is the text of err without the operation and the name around it.
func reason(err error) string {
	if e, ok := errors.AsType[*fencehold.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// widowed deals with a keeper that ended before the command: everything that
// belongs to the command is killed.
// A command that is in uninterruptible sleep holds this up, and the lock with it,
// as it should: it may still write when it wakes.
func (r *run) widowed() {
	r.keeperLost = true
	var target process.Target = process.Descendants{Except: r.before}
	if r.pid != 0 && !r.spec.Terminal {
		target = process.Group(r.pid)
	}
	for {
		// Again and again: a member that forked between the look and the signal has
		// a child that neither of them reached.
		target.Signal(unix.SIGKILL)
		r.reap()
		if target.Gone() {
			break
		}
		time.Sleep(pollEvery)
	}
	if r.verdict != "" {
		// Why the command had to end says more than how it came about.
		r.conclude()
		return
	}
	err := errKeeper
	if r.woken {
		err = errSilent
	}
	r.fail(Result{Outcome: Failed, Err: err})
}

// pollEvery is how often to look whether killed processes are gone.
const pollEvery = 2 * time.Millisecond

// conclude sets the outcome of a run whose command is gone.
// A verdict outweighs how the command ended: the code of a command that was stopped
// says nothing, since it may have caught the signal.
func (r *run) conclude() {
	switch {
	case r.verdict != "":
		r.result.Outcome = r.verdict
	case r.spec.WarnOnly && r.result.Err != nil:
		r.result.Outcome = Lost
	case r.result.Status.Signaled():
		r.result.Outcome = Signaled
	default:
		r.result.Outcome = Exited
	}
}

// finish releases what the run has.
func (r *run) finish() {
	if r.lease != nil {
		// Nobody of the command is left, so the keeper may end while this is on its
		// way: its copy of a pinned lock keeps nobody out any more.
		r.release()
	}
	r.letGo()
	if r.client != nil {
		r.client.Close()
	}
	r.keeper.Dismiss()
	r.part()
	r.spec.Notices.Flush(flushTime)
}

// release gives the lock back, after the command is gone. Whatever comes of it,
// the outcome of the command stands: a lock that could not be released runs out.
func (r *run) release() {
	r.result.Hold = time.Since(r.since)
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	// The context that the run was called under may be over, and what it would end
	// here is the cleaning up.
	err := r.lease.Release(ctx)
	switch {
	case err == nil || r.result.Outcome == Lost:
	case errors.Is(err, fencehold.ErrLost):
		r.lostAtLast(err)
	default:
		r.spec.Notices.Warn("lock %q: not released: %s", r.spec.Lock, reason(err))
	}
}

// lostAtLast tells a lock that was taken away while the command ran, of which
// nobody knew, from a lease that ran out after the command had ended: the
// keeper does not let a command live that long.
func (r *run) lostAtLast(err error) {
	loss, ok := errors.AsType[*fencehold.LostError](err)
	if !ok || !r.result.Ran || loss.Reason == fencehold.ReasonExpired || loss.Reason == fencehold.ReasonUnreachable {
		return
	}
	r.result.Outcome, r.result.Err = Lost, err
	r.spec.Notices.Warn("lock %q: %s while the command ran", r.spec.Lock, reason(err))
}

// reap frees children: the keeper, and orphans that it left. A keeper inside
// this process does that itself.
func (r *run) reap() {
	if !r.spec.NoKeeper || r.keeperLost {
		process.Reap()
	}
}

// part waits until the keeper has ended, which it does by itself.
// A keeper that does not end is left to itself: it has no command any more, and
// whoever waits for this process must not wait for it.
func (r *run) part() {
	limit := time.After(partingTime)
	for r.events != nil {
		select {
		case _, ok := <-r.events:
			if !ok {
				r.events = nil
			}
		case <-limit:
			return
		}
	}
	ended := make(chan struct{})
	go func() {
		if pid := r.keeper.PID(); pid != 0 {
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
		close(ended)
	}()
	select {
	case <-limit:
	case <-ended:
	}
}
