package fencehold

import (
	"log/slog"
	"maps"
	"time"
)

// defaultTTL is how long a lease outlives its holder unless told otherwise.
const defaultTTL = 30 * time.Second

// maxDuration bounds every duration: more is taken for a mistake.
const maxDuration = 365 * 24 * time.Hour

// unset marks a duration that was not given.
const unset time.Duration = -1

// An Option sets a default on [Open] and [New], and overrides it on a single
// lock. A value that breaks a rule is an [ErrInvalid]: from Open and New at
// once, from the methods of a lock before anything is sent.
type Option func(*config)

// config is what the options of a client or a lock add up to.
type config struct {
	ttl       time.Duration
	maxWait   time.Duration
	maxHold   time.Duration
	minHold   time.Duration
	progress  time.Duration
	noRenewal bool
	owner     string
	labels    map[string]string
	barging   bool
	detached  bool
	features  Features
	logger    *slog.Logger
	hooks     Hooks

	perLock bool  // these are the options of one lock
	err     error // the first rule that was broken
}

// WithTTL sets how long a lease outlives its last renewal, and so how long a
// crashed holder keeps others waiting. It takes from the backend's floor
// ([Info].MinTTL) to its ceiling ([Info].MaxTTL), or to 365 days where it has
// none. By default, 30 seconds, or the ceiling where that is less.
func WithTTL(ttl time.Duration) Option {
	return func(c *config) { c.set(&c.ttl, "TTL", ttl) }
}

// WithMaxWait bounds the waiting of [Mutex.Acquire], not the work that
// follows; when it is over, Acquire returns [ErrHeld]. 0 makes exactly one
// attempt. If the context ends first, its error is returned. By default,
// Acquire waits until its context ends.
func WithMaxWait(limit time.Duration) Option {
	return func(c *config) {
		if limit == 0 {
			c.maxWait = 0
			return
		}
		c.set(&c.maxWait, "wait limit", limit)
	}
}

// WithMaxHold ends a lease that has been held for limit, as a loss with
// [ReasonMaxHold], whatever renewals say: a holder that is stuck cannot keep
// the lock for good. By default, there is no limit.
func WithMaxHold(limit time.Duration) Option {
	return func(c *config) { c.set(&c.maxHold, "hold limit", limit) }
}

// WithMinHold keeps the lock taken, by nobody, until d after it was granted,
// even if the lease is released sooner. It is for jobs that several machines
// start at about the same moment. By default, a released lock is free.
func WithMinHold(d time.Duration) Option {
	return func(c *config) { c.set(&c.minHold, "minimum hold", d) }
}

// WithoutRenewal leaves it to [Lease.Extend] to keep a lease alive. By
// default, leases renew themselves.
func WithoutRenewal() Option {
	return func(c *config) { c.noRenewal = true }
}

// WithProgress renews a lease only while the work reported by
// [Lease.Progress] within the last d, so that a stuck holder loses the lock
// in bounded time. Being granted counts as a report. By default, a lease is
// renewed as long as the process lives.
func WithProgress(d time.Duration) Option {
	return func(c *config) { c.set(&c.progress, "progress limit", d) }
}

// WithOwner names the holder to people, in at most 256 bytes. By default,
// host, process id and a random part.
func WithOwner(owner string) Option {
	return func(c *config) {
		c.fail(checkOwner(owner))
		c.owner = owner
	}
}

// WithLabels says more about the holder to people, in at most 1,024 bytes, of
// which each label takes 6.
// Labels of a lock replace those of the client. By default, there are none.
func WithLabels(labels map[string]string) Option {
	return func(c *config) {
		c.fail(checkLabels(labels))
		c.labels = maps.Clone(labels)
	}
}

// WithBarging lets the lock go to whoever asks at the right moment, past those
// that wait in line: more throughput, no fairness. By default, locks are
// served in order where the backend can.
func WithBarging() Option {
	return func(c *config) { c.barging = true }
}

// WithDetached asks for a lease that outlives this process: it is held until
// it is released, here or by whoever calls [Client.Resume], or its TTL is
// over. [Client.Close] leaves it alone. By default, closing the client
// releases its leases.
func WithDetached() Option {
	return func(c *config) { c.detached = true }
}

// WithFeatures makes [Open] and [New] fail with [errors.ErrUnsupported] if the
// lock service cannot promise all of want. By default, nothing is demanded.
func WithFeatures(want Features) Option {
	return func(c *config) {
		c.clientOnly("WithFeatures")
		c.features = want
	}
}

// WithLogger sends renewal failures and lost leases to log, the rest at debug
// level. By default, nothing is logged.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) {
		c.clientOnly("WithLogger")
		c.logger = log
	}
}

// WithHooks tells what happens to leases, for metrics. By default, nobody is
// told.
func WithHooks(hooks Hooks) Option {
	return func(c *config) {
		c.clientOnly("WithHooks")
		c.hooks = hooks
	}
}

// set takes a duration that has to be given and positive.
func (c *config) set(field *time.Duration, what string, d time.Duration) {
	c.fail(checkDuration(what, d))
	*field = d
}

func (c *config) clientOnly(option string) {
	if c.perLock {
		c.fail(invalid("%s belongs to the client, not to a single lock", option))
	}
}

func (c *config) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// with returns a copy of c with the options of one lock.
func (c *config) with(opts []Option) *config {
	if len(opts) == 0 {
		return c
	}
	own := *c
	own.perLock = true
	for _, opt := range opts {
		opt(&own)
	}
	return &own
}

// check finds the first rule that the settings break for a service.
func (c *config) check(info Info) error {
	if c.err != nil {
		return c.err
	}
	if err := checkTTL(c.ttl, info); err != nil {
		return err
	}
	switch {
	case c.minHold != unset && !info.Features.Has(MinHold):
		return unsupported("minimum hold")
	case c.detached && !info.Features.Has(Detached):
		return unsupported("detached lease")
	case c.minHold != unset && c.maxHold != unset && c.minHold > c.maxHold:
		return invalid("minimum hold %v exceeds the hold limit %v", c.minHold, c.maxHold)
	case c.noRenewal && c.progress != unset:
		return invalid("progress limit %v on a lease that is not renewed", c.progress)
	}
	return nil
}

// checkTTL compares a TTL with what a service takes.
func checkTTL(ttl time.Duration, info Info) error {
	switch {
	case ttl < info.MinTTL:
		return invalid("TTL %v: %s takes no less than %v", ttl, info.Kind, info.MinTTL)
	case info.MaxTTL > 0 && ttl > info.MaxTTL:
		return invalid("TTL %v: %s takes no more than %v", ttl, info.Kind, info.MaxTTL)
	}
	return nil
}

// defaultTTLOn is the TTL of who does not ask for one.
func defaultTTLOn(info Info) time.Duration {
	if info.MaxTTL > 0 {
		return min(defaultTTL, info.MaxTTL)
	}
	return defaultTTL
}

// checkDuration is the one rule for durations.
func checkDuration(what string, d time.Duration) error {
	switch {
	case d <= 0:
		return invalid("%s %v: must be positive", what, d)
	case d < time.Millisecond:
		return invalid("%s %v: must be at least 1ms", what, d)
	case d > maxDuration:
		return invalid("%s %v: must be at most %v", what, d, maxDuration)
	}
	return nil
}
