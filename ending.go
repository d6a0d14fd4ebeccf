package fencehold

import (
	"errors"
	"log/slog"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// finish is the one transition to an end. Whoever comes second changes
// nothing. The caller holds l.mu.
func (l *Lease) finish(err error) bool {
	if l.err != nil {
		return false
	}
	l.err = err
	// Contexts end before Done is closed: whoever wakes up by Done finds the
	// work's context over.
	for c := range l.contexts {
		c.cancel(l.how())
		c.stop()
	}
	l.contexts = nil
	if l.done != nil {
		close(l.done)
	}
	// A renewal on its way is called back, not awaited: the caller has the
	// mutex that its answer needs.
	l.renewal.stop()
	l.client.schedule.remove(l)
	return true
}

// how is the error with which the lease ended, as others see it: nil while it is
// held. Most leases are released, and nobody asks them how they ended.
func (l *Lease) how() error {
	if l.err == ErrReleased { //nolint:errorlint // this very one, which has no name of the lock yet
		return l.wrap("hold", ErrReleased)
	}
	return l.err
}

// lose ends the lease without a release.
func (l *Lease) lose(how *LostError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loseLocked(how)
}

func (l *Lease) loseLocked(how *LostError) {
	err := l.wrap("hold", how)
	if !l.finish(err) {
		return
	}
	l.tell(l.client.herald.hooks.Lost, slog.LevelWarn, "lease lost", err)
	if how.Reason == ReasonMaxHold || l.term.pinned && how.Reason != ReasonClosed {
		l.letGo()
	}
}

// byClock reports whether a lease was lost to a limit of this process: the
// service may still hold the lock for it.
func byClock(reason Reason) bool {
	return reason == ReasonExpired || reason == ReasonUnreachable || reason == ReasonMaxHold
}

// letGo releases a lost grant for a holder who is stuck and never will: no TTL
// does that for a pinned one, and none in time for one that has reached its
// hold limit. The work gets the margin to stop, as it does where a service lets
// go by itself.
func (l *Lease) letGo() {
	c := l.client
	if c.enter() != nil {
		return
	}
	grant, keep, margin := l.grant, l.keep(), l.term.margin()
	go func() {
		defer c.working.Done()
		// Close does not wait for the margin: the release is then due at once.
		timer := time.NewTimer(margin)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.life.Done():
		}
		c.undo(grant, func() time.Duration { return keep })
	}()
}

// look ends the lease if the clocks say that it is over. It is called on a
// timer and on every use, because the timers of a process that was stopped
// come late. The caller holds l.mu.
func (l *Lease) look() {
	if l.err != nil {
		return
	}
	switch {
	case l.holdLeft() <= 0: // first: it is the reason also where the term ends with it
		l.loseLocked(&LostError{Reason: ReasonMaxHold, Why: "limit " + l.settings.maxHold.String()})
	case l.clockLeft() <= 0:
		l.loseLocked(l.expiry())
	case l.term.doubtful() && (!l.renews() || l.idle()):
		l.loseLocked(&LostError{Reason: ReasonExpired, Why: "the wall clock was set forward"})
	case l.term.doubtful() && l.renewal.request == nil:
		l.urge()
	}
}

// expiry says why time ran out.
func (l *Lease) expiry() *LostError {
	switch {
	case l.renewal.lastErr != nil:
		return &LostError{Reason: ReasonUnreachable, Err: l.renewal.lastErr}
	case l.idle():
		return &LostError{Reason: ReasonExpired, Why: "no progress reported for " + l.settings.progress.String()}
	case !l.renews():
		return &LostError{Reason: ReasonExpired, Why: "not renewed"}
	}
	return &LostError{Reason: ReasonExpired}
}

// holdLeft is the time left until the cap of WithMaxHold.
func (l *Lease) holdLeft() time.Duration {
	if l.settings.maxHold == unset {
		return maxDuration
	}
	return l.settings.maxHold - l.began.Elapsed()
}

// clockLeft is the time left until the clock ends the lease. It ends a pinned
// one only where that has stopped reporting progress.
func (l *Lease) clockLeft() time.Duration {
	switch {
	case !l.term.pinned:
		return l.term.left()
	case l.settings.progress == unset:
		return maxDuration
	}
	return max(l.term.left(), l.settings.progress-time.Since(l.progress))
}

// renews reports whether the lease renews itself.
func (l *Lease) renews() bool { return !l.settings.noRenewal }

// idle reports whether the work has stopped reporting.
func (l *Lease) idle() bool {
	return l.settings.progress != unset && time.Since(l.progress) >= l.settings.progress
}

// warn gives the early warning once. The caller holds l.mu.
func (l *Lease) warn() {
	if l.warned || l.err != nil {
		return
	}
	l.warned = true
	if l.warning != nil {
		close(l.warning)
	}
	l.tell(l.client.herald.hooks.Expiring, slog.LevelDebug, "lease is expiring", l.renewal.lastErr)
}

// calm takes the warning back. The caller holds l.mu.
func (l *Lease) calm() {
	if l.warned {
		l.warned, l.warning = false, nil
	}
}

// check asks a backend that can answer at once whether the grant stands.
func (l *Lease) check(checker driver.Checker) {
	l.mu.Lock()
	grant, over := l.grant, l.err != nil
	l.mu.Unlock()
	if over {
		return
	}
	err := checker.Check(grant)
	switch {
	case err == nil:
	case errors.Is(err, ErrLost):
		l.lose(asLost(err))
	default:
		l.unanswered(err)
	}
}

// unanswered deals with a check that failed: like a failed renewal, it says
// nothing about the grant.
func (l *Lease) unanswered(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.tell(l.client.herald.hooks.RenewalFailed, slog.LevelWarn, "check failed", err)
		l.warn()
	}
}

// tell queues an event. The caller holds l.mu.
func (l *Lease) tell(hook func(Event), level slog.Level, text string, err error) {
	if l.client.herald.silent(hook) {
		return
	}
	l.client.herald.tell(hook, level, text, Event{
		Name: l.grant.Name, Holder: l.grant.Holder, Token: l.grant.Token, Owner: l.settings.owner,
		Wait: l.waited, Held: time.Since(l.granted), Remaining: l.term.left(), Err: err,
	})
}

func (l *Lease) tellAcquired() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell(l.client.herald.hooks.Acquired, slog.LevelDebug, "lock acquired", nil)
}
