package fencehold

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// minBackoff is the pause after the first failed renewal; it doubles, but a
// quarter of the time left is never slept away, down to minRetry.
const (
	minBackoff = 50 * time.Millisecond
	minRetry   = 20 * time.Millisecond
)

// maxAttempt bounds one attempt to renew, however much time is left.
const maxAttempt = 5 * time.Second

// renewal is what a lease knows of its own renewal, under its mutex.
type renewal struct {
	due      time.Time // when the next attempt is to be made
	request  *request  // the one attempt that is being made
	failures int       // in a row
	lastErr  error     // of the last attempt, if its outcome is unknown
}

// request is a renewal or an extension on its way. A lease has one at a time.
type request struct {
	done   chan struct{}
	cancel context.CancelFunc // nil until it is sent
	ttl    time.Duration
}

// stop calls back what is on its way; whoever sent it closes it.
func (r *renewal) stop() {
	if r.request != nil && r.request.cancel != nil {
		r.request.cancel()
	}
}

// plan sets the next attempt to when two thirds of a TTL are left, up to a tenth
// sooner or later, so that leases taken together drift apart.
func (r *renewal) plan(t term, ttl time.Duration) {
	length := min(t.length(), term{ttl: ttl}.length())
	third := length / 3
	jitter := rand.N(third/5+1) - third/10
	r.due = t.end().Add(-2*third - jitter)
}

// turn does what is due for the lease, and plans when it is looked at next.
func (l *Lease) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
	if l.err != nil {
		return
	}
	if l.clockLeft() <= l.term.length()/3 {
		l.warn()
	}
	// The request takes its place before it is queued, so that neither a
	// second one nor an extension can come between.
	if l.wantsRenewal() && !time.Now().Before(l.renewal.due) {
		l.renewal.request = &request{done: make(chan struct{})}
		l.client.renewals.add(l)
	}
	l.client.schedule.plan(l, l.nextEvent(time.Now()))
}

// wantsRenewal reports whether an attempt is made once it is due.
func (l *Lease) wantsRenewal() bool {
	if !l.renews() || l.renewal.request != nil || l.idle() {
		return false
	}
	// A doubt is cleared even where there is nothing left to gain.
	return l.term.doubtful() || l.settings.maxHold == unset || l.term.left() < l.holdLeft()
}

// nextEvent is until when the lease can be left alone.
func (l *Lease) nextEvent(now time.Time) time.Time {
	left := l.clockLeft()
	wait := min(l.holdLeft(), left)
	if !l.warned {
		wait = min(wait, left-l.term.length()/3)
	}
	if l.wantsRenewal() {
		wait = min(wait, l.renewal.due.Sub(now))
	}
	return now.Add(max(wait, 0))
}

// urge makes the next attempt at once. The caller holds l.mu.
func (l *Lease) urge() {
	l.renewal.due = time.Now()
	l.client.schedule.plan(l, l.renewal.due)
}

// send prepares the attempt that turn asked for: what to send, and how long to
// wait for the answer. It returns false if the lease has ended meanwhile.
func (l *Lease) send() (context.Context, driver.Renewal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	req := l.renewal.request
	l.look()
	if l.err != nil {
		l.dropRequest()
		return nil, driver.Renewal{}, false
	}
	req.ttl = l.capTTL(l.settings.ttl)
	limit := min(l.settings.ttl/6, maxAttempt)
	if !l.term.pinned {
		limit = min(limit, l.term.left()/2)
	}
	var ctx context.Context
	ctx, req.cancel = context.WithTimeout(context.Background(), max(limit, time.Millisecond))
	return ctx, driver.Renewal{Grant: l.grant, TTL: req.ttl}, true
}

// dropRequest forgets a request that will not be sent. The caller holds l.mu.
func (l *Lease) dropRequest() {
	close(l.renewal.request.done)
	l.renewal.request = nil
}

// capTTL keeps a renewal from outliving the cap of WithMaxHold.
func (l *Lease) capTTL(ttl time.Duration) time.Duration {
	if l.settings.maxHold == unset {
		return ttl
	}
	return min(ttl, max(l.holdLeft(), l.client.info.MinTTL))
}

// settle takes the answer to the request on its way.
func (l *Lease) settle(renewed driver.Grant, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	req := l.renewal.request
	l.renewal.request = nil
	req.cancel()
	close(req.done)
	if l.err != nil {
		return // it was released or lost meanwhile: the answer is of no use
	}
	switch {
	case err == nil:
		l.confirmed(renewed)
	case errors.Is(err, ErrLost):
		l.loseLocked(asLost(err))
	default:
		l.failed(err)
	}
	l.look()
	if l.err == nil {
		l.client.schedule.plan(l, l.nextEvent(time.Now()))
	}
}

// confirmed moves the end on. A late answer to an old request cannot bring it
// forward.
func (l *Lease) confirmed(renewed driver.Grant) {
	l.tell(l.client.herald.hooks.Renewed, slog.LevelDebug, "lease renewed", nil)
	if t := termOf(renewed); l.term.doubtful() {
		// The jump of the wall clock lies between the two requests; the new
		// term counts from after it.
		l.term = t
	} else {
		l.term = l.term.later(t)
	}
	l.grant.Sent, l.grant.TTL = l.term.sent, l.term.ttl
	l.renewal.failures, l.renewal.lastErr = 0, nil
	l.calm()
	l.renewal.plan(l.term, l.settings.ttl)
}

// failed leaves the end as it is and plans the next attempt, unless there is
// doubt that only an answer could have cleared.
func (l *Lease) failed(err error) {
	err = ofAttempt(err)
	l.renewal.lastErr = err
	l.tell(l.client.herald.hooks.RenewalFailed, slog.LevelWarn, "renewal failed", err)
	if l.term.doubtful() {
		l.loseLocked(&LostError{Reason: ReasonExpired, Why: "the wall clock was set forward", Err: err})
		return
	}
	l.warn()
	pause := minBackoff << min(l.renewal.failures, 10)
	if !l.term.pinned {
		pause = min(pause, max(minRetry, l.term.left()/4))
	}
	l.renewal.failures++
	l.renewal.due = time.Now().Add(pause)
}

// asLost returns the LostError in err, or one that wraps it.
func asLost(err error) *LostError {
	if lost := new(LostError); errors.As(err, &lost) {
		return lost
	}
	return &LostError{Err: err}
}

// Extend lets the lease live for ttl from now, and never shorter than before;
// [WithMaxHold] caps it. It returns [ErrLost] or [ErrReleased] if the lease is
// over, and [ErrUnavailable] if the outcome is unknown: the lease then ends
// when it would have ended. ctx bounds the call.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	err := checkDuration("TTL", ttl)
	if err == nil {
		err = checkTTL(ttl, l.client.info)
	}
	if err != nil {
		return l.wrap("extend", err)
	}
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	grant, ttl, err := l.claim(ctx, cancel, ttl)
	if err != nil {
		return err
	}
	renewed, err := l.client.backend.Renew(sending, grant, ttl)
	l.settle(renewed, err)
	if over := l.Err(); over != nil {
		return over
	}
	return l.wrap("extend", classify(ctx, err))
}

// claim waits for the lease's one place for a request, and takes it.
func (l *Lease) claim(ctx context.Context, cancel context.CancelFunc, ttl time.Duration) (driver.Grant, time.Duration, error) {
	for {
		l.mu.Lock()
		l.look()
		grant, over, other := l.grant, l.how(), l.renewal.request
		if over == nil && other == nil {
			l.renewal.request = &request{done: make(chan struct{}), cancel: cancel}
			ttl = l.capTTL(ttl)
		}
		l.mu.Unlock()
		switch {
		case over != nil:
			return grant, ttl, over
		case other == nil:
			return grant, ttl, nil
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return grant, ttl, l.wrap("extend", contextError(ctx))
		}
	}
}
