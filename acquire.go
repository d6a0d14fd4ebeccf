package fencehold

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/lazycontext"
)

// The backoff of polling, where a backend can neither queue nor notify: at most
// three requests of a waiter in a tenth of a second.
const (
	minPoll = 35 * time.Millisecond
	maxPoll = 60 * time.Millisecond
)

// pollSlack is added to a holder's remaining time, so that a waiter does not
// come just before the service has let go.
const pollSlack = 2 * time.Millisecond

var errWaitOver = errors.New("wait limit is over")

// acquire is the one path to a lease.
func (m *Mutex) acquire(ctx context.Context, wait bool) (*Lease, error) {
	c := m.client
	switch {
	case m.err != nil:
		return nil, m.err
	case ctx.Err() != nil:
		return nil, contextError(ctx)
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.working.Done()

	start := time.Now()
	lazy := lazycontext.New(ctx, c.waiting.Derive)
	defer lazy.Release()
	grant, err := m.obtain(lazy, wait)
	if err != nil {
		return nil, err
	}
	return m.accept(lazy, grant, start)
}

// whileOpen derives a context that ends with the client too.
func (c *Client) whileOpen(parent context.Context) (context.Context, context.CancelFunc) {
	if parent.Done() == nil {
		// The caller's context never ends by itself.
		return bounded{Context: c.life, values: parent}, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

func (m *Mutex) obtain(ctx context.Context, wait bool) (driver.Grant, error) {
	switch {
	case !wait:
		return m.attempt(ctx, m.client.backend.TryAcquire)
	case m.settings.maxWait != unset:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, m.settings.maxWait, errWaitOver)
		defer cancel()
	}
	if m.settings.barging {
		return m.waitOver(ctx, m.barge)
	}
	return m.waitOver(ctx, m.standInLine)
}

// barge waits past the local line. A backend with a line of its own lets those
// who barge in before the others.
func (m *Mutex) barge(ctx context.Context) (driver.Grant, error) {
	queuer, ok := m.client.backend.(driver.Queuer)
	if !ok {
		return m.poll(ctx)
	}
	return m.attempt(ctx, queuer.Acquire)
}

// waitOver turns the end of the wait limit into ErrHeld.
func (m *Mutex) waitOver(ctx context.Context, wait func(context.Context) (driver.Grant, error)) (driver.Grant, error) {
	grant, err := wait(ctx)
	if err == nil || !errors.Is(context.Cause(ctx), errWaitOver) || settled(err) && !errors.Is(err, ErrHeld) {
		return grant, err
	}
	if held, ok := errors.AsType[*HeldError](err); ok {
		return grant, held
	}
	// Nobody was seen to hold the lock: the service has not answered.
	return grant, unavailable(fmt.Errorf("no answer within the wait limit of %v%s", m.settings.maxWait, lastHeard(err)))
}

// standInLine waits for the front of the local line, and there for the lock.
func (m *Mutex) standInLine(ctx context.Context) (driver.Grant, error) {
	line := &m.client.line
	place := line.Join(m.name)
	defer line.Leave(place)
	_ = place.Wait(ctx)
	switch {
	// The turn may have come at the moment at which the wait was over.
	case errors.Is(context.Cause(ctx), errWaitOver):
		return driver.Grant{}, &HeldError{}
	case ctx.Err() != nil:
		return driver.Grant{}, contextError(ctx)
	}
	if queuer, ok := m.client.backend.(driver.Queuer); ok {
		return m.attempt(ctx, queuer.Acquire)
	}
	return m.poll(ctx)
}

// poll tries again and again.
func (m *Mutex) poll(ctx context.Context) (driver.Grant, error) {
	for {
		grant, err := m.attempt(ctx, m.client.backend.TryAcquire)
		var held *HeldError
		if err == nil || !errors.As(err, &held) {
			return grant, err
		}
		if err := m.pause(ctx, held.Remaining); err != nil {
			return grant, fmt.Errorf("%w: %w", err, held)
		}
	}
}

// pause waits until it is worth trying again.
func (m *Mutex) pause(ctx context.Context, remaining time.Duration) error {
	limit := minPoll + rand.N(maxPoll-minPoll)
	notifier, notifies := m.client.backend.(driver.Notifier)
	if notifies {
		limit = time.Second
	}
	if remaining > 0 {
		limit = min(limit, remaining+pollSlack)
	}
	pause, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if notifies {
		if err := notifier.Wait(pause, m.name); err == nil || pause.Err() == nil {
			return m.afterNotice(ctx, err)
		}
	}
	<-pause.Done()
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return nil
}

// afterNotice goes on after a notice. A notifier that fails is no reason to
// give up: polling goes on without it.
func (m *Mutex) afterNotice(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-time.After(maxPoll):
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// attempt asks the backend for one grant under a holder id of its own. If the
// outcome is unknown it asks once more, which the backend answers with the
// grant if there was one; what stays unknown is undone.
func (m *Mutex) attempt(ctx context.Context, ask func(context.Context, driver.Request) (driver.Grant, error)) (driver.Grant, error) {
	s := m.settings
	req := driver.Request{
		Name: m.name, Holder: driver.NewHolder(), Owner: s.owner, Labels: s.labels,
		TTL: s.ttl, Barging: s.barging, Detached: s.detached,
	}
	grant, err := ask(ctx, req)
	unknown := outcomeUnknown(err)
	// "Held" to the repeated attempt can only be somebody else: our own grant
	// would have been the answer.
	if unknown && ctx.Err() == nil {
		grant, err = ask(ctx, req)
		unknown = !settled(err)
	}
	switch {
	case err == nil:
		return grant, nil
	case unknown || outcomeUnknown(err) || ctx.Err() != nil:
		m.client.undo(driver.Grant{Name: req.Name, Holder: req.Holder, Sent: driver.Now(), TTL: s.ttl}, nothing)
	}
	return driver.Grant{}, m.explain(ctx, err)
}

// explain names what ended an attempt. A context that ended while somebody
// else held the lock, or while the service was in trouble, says so in its text.
func (m *Mutex) explain(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return classify(ctx, err)
	}
	if held := new(HeldError); errors.As(err, &held) {
		if errors.Is(context.Cause(ctx), errWaitOver) {
			return held
		}
		return fmt.Errorf("%w, waiting while %s", contextError(ctx), held.Error())
	}
	named := classify(ctx, err)
	if detail := new(troubleError); !settled(err) && !onlyContext(err) {
		detail.err, detail.heard = named, err.Error()
		return detail
	}
	return named
}

// troubleError is the end of a context with what the service said last.
type troubleError struct {
	err   error
	heard string
}

// Error says both.
func (e *troubleError) Error() string { return e.err.Error() + ", last heard: " + e.heard }

// Unwrap returns the end of the context.
func (e *troubleError) Unwrap() error { return e.err }

// onlyContext reports whether an error says nothing but that a context ended.
func onlyContext(err error) bool {
	return err == context.Canceled || err == context.DeadlineExceeded //nolint:errorlint // wrapped ones say more
}

// lastHeard is what the service said last, for a message.
func lastHeard(err error) string {
	if trouble := new(troubleError); errors.As(err, &trouble) {
		return ", last heard: " + trouble.heard
	}
	return ""
}

// accept makes a lease of a grant that is still of use.
func (m *Mutex) accept(ctx context.Context, grant driver.Grant, asked time.Time) (*Lease, error) {
	c := m.client
	switch {
	case ctx.Err() != nil:
		// The caller has gone: nobody would release what is returned now.
		c.undo(grant, nothing)
		return nil, contextError(ctx)
	case !termOf(grant).holds():
		c.undo(grant, nothing)
		return nil, unavailable(fmt.Errorf("the lease of %v ran out while it was being acquired, in %v",
			grant.TTL, grant.Sent.Elapsed().Round(time.Millisecond)))
	case c.info.Features.Has(Fencing) && !grant.Token.Valid():
		c.undo(grant, nothing)
		return nil, unavailable(fmt.Errorf("granted with token %v, which is not one", grant.Token))
	}
	grant, err := m.lengthen(ctx, grant)
	if err != nil {
		c.undo(grant, nothing)
		return nil, err
	}
	l := newLease(c, m.settings, grant, asked)
	c.schedule.add(l)
	l.tellAcquired()
	l.askRedundancy()
	return l, nil
}

// lengthen gives a grant its whole TTL if nobody else will: a service may hand
// a waiter a short grant, for the case that it has died, and count on its
// renewal.
func (m *Mutex) lengthen(ctx context.Context, grant driver.Grant) (driver.Grant, error) {
	s := m.settings
	if grant.Pinned || grant.TTL >= s.ttl || !s.noRenewal && !s.detached {
		return grant, nil
	}
	renewed, err := m.client.backend.Renew(ctx, grant, s.ttl)
	switch {
	case errors.Is(err, ErrLost):
		return grant, unavailable(fmt.Errorf("granted, and gone before it could be lengthened: %v", err)) //nolint:errorlint // no lease was lost
	case err != nil:
		return grant, m.explain(ctx, err)
	}
	return renewed, nil
}
