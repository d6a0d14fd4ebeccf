package fencehold

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/internal/lazycontext"
	"github.com/fencehold/fencehold/internal/lineup"
)

type (
	// Token orders the grants of one lock: the newer, the larger.
	Token = fence.Token
	// Fence says under which grant a write is made.
	Fence = fence.Fence
	// Info describes a lock service.
	Info = driver.Info
	// Features are promises that not every lock service can make.
	Features = driver.Features
	// Holding is a lock as seen from outside.
	Holding = driver.Holding
	// Waiter is one who waits in line.
	Waiter = driver.Waiter
)

const (
	// Fencing means that every grant has a token, larger than all before.
	Fencing = driver.Fencing
	// Durable means that tokens rise across crashes of the service, too.
	Durable = driver.Durable
	// FairQueue means that waiters are served in the order of arrival.
	FairQueue = driver.FairQueue
	// MinHold means that the service can do [WithMinHold].
	MinHold = driver.MinHold
	// Detached means that the service can do [WithDetached].
	Detached = driver.Detached
)

// Client hands out the locks of one lock service. It may be used by any number
// of goroutines, and counts as one waiter per lock towards others.
type Client struct {
	backend  driver.Backend
	info     Info
	settings config

	line     lineup.Lineup
	schedule schedule
	renewals renewals
	attempts attempts
	herald   herald
	waiting  *lazycontext.Shared // contexts that end with the client, too

	life    context.Context // ends when the client is closed
	end     context.CancelCauseFunc
	mu      sync.Mutex
	closed  bool
	ended   chan struct{}  // closed by the first Close when it is done
	working sync.WaitGroup // acquiring, undoing and renewing
}

// Open connects to the lock service named by a URL, such as "file:///var/lib/locks".
// Importing a backend package registers its schemes; the error for an unknown
// scheme names the package to import. ctx bounds the connecting alone. Errors
// never show the password of a URL.
func Open(ctx context.Context, rawURL string, opts ...Option) (*Client, error) {
	open, err := opener(rawURL)
	if err != nil {
		return nil, &Error{Op: "open", Err: err}
	}
	backend, err := open(ctx, rawURL)
	if err != nil {
		scheme, _, _ := strings.Cut(rawURL, "://")
		return nil, &Error{Op: "open", Backend: scheme, Err: classify(ctx, err)}
	}
	client, err := New(backend, opts...)
	if err != nil {
		_ = backend.Close()
		return nil, err
	}
	return client, nil
}

// New returns a client on a backend that the caller built. It returns
// [ErrInvalid] for a nil backend or an option that breaks a rule, and
// [errors.ErrUnsupported] where the service cannot promise what
// [WithFeatures] demands. Closing the client closes the backend.
func New(backend driver.Backend, opts ...Option) (*Client, error) {
	if backend == nil {
		return nil, &Error{Op: "open", Err: invalid("backend is nil")}
	}
	info := backend.Info()
	settings := config{
		ttl: defaultTTLOn(info), maxWait: unset, maxHold: unset, minHold: unset, progress: unset, owner: defaultOwner(),
	}
	for _, opt := range opts {
		opt(&settings)
	}
	err := settings.check(info)
	if missing := settings.features &^ info.Features; err == nil && missing != 0 {
		err = unsupported("lock service does not promise: " + missing.String())
	}
	if err != nil {
		return nil, &Error{Op: "open", Backend: info.Kind, Err: err}
	}
	return newClient(backend, info, settings), nil
}

func newClient(backend driver.Backend, info Info, settings config) *Client {
	c := &Client{backend: backend, info: info, settings: settings, ended: make(chan struct{})}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.herald = herald{hooks: settings.hooks, logger: settings.logger, kind: info.Kind}
	c.schedule.init(c)
	c.renewals.init(c)
	c.waiting = lazycontext.NewShared(c.whileOpen)
	if watcher, ok := backend.(driver.Watcher); ok {
		watcher.Watch(driver.Told{Lost: c.lostElsewhere, Redundancy: c.redundancyChanged, Missed: c.renewAll})
	}
	return c
}

// renewAll renews at once what renews itself.
func (c *Client) renewAll() {
	for _, l := range c.schedule.leases() {
		l.mu.Lock()
		if l.err == nil && l.renews() {
			l.urge()
		}
		l.mu.Unlock()
	}
}

// lostElsewhere ends the lease that the service says has ended.
func (c *Client) lostElsewhere(name, holder string, how error) {
	for _, l := range c.schedule.leases() {
		if l.grant.Holder == holder && l.grant.Name == name {
			l.lose(asLost(how))
		}
	}
}

// defaultOwner is host, process id and a random part.
func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil || checkOwner(host) != nil || len(host) > maxOwner/2 {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), strings.ToLower(driver.NewHolder()[:6]))
}

// Mutex is the lock that one owner holds at a time. A name has 1 to 512 bytes
// of valid UTF-8 without control characters; a name or an option that breaks a
// rule is reported by the methods of the mutex, before anything is sent.
func (c *Client) Mutex(name string, opts ...Option) *Mutex {
	settings := c.settings.with(opts)
	err := checkName(name)
	if err == nil && settings != &c.settings {
		err = settings.check(c.info)
	}
	return &Mutex{client: c, name: name, settings: settings, err: err}
}

// Info describes the lock service. The URL in it has no password.
func (c *Client) Info() Info { return c.info }

// Features says what the lock service can promise.
func (c *Client) Features() Features { return c.info.Features }

// Locks yields the locks held now whose names start with prefix, in no
// particular order; an error ends the list. ctx bounds the whole of it.
func (c *Client) Locks(ctx context.Context, prefix string) iter.Seq2[Holding, error] {
	return func(yield func(Holding, error) bool) {
		inspector, ok := c.backend.(driver.Inspector)
		if err := c.usable(ok, "list locks"); err != nil {
			yield(Holding{}, c.wrap("list", prefix, err))
			return
		}
		for holding, err := range inspector.List(ctx, prefix) {
			if err != nil {
				yield(Holding{}, c.wrap("list", prefix, classify(ctx, err)))
				return
			}
			if !yield(holding, nil) {
				return
			}
		}
	}
}

// Inspect shows one lock and those who wait for it, in order. Looking takes no
// lock and disturbs nobody. A lock that nobody holds is a Holding whose Held
// is false.
func (c *Client) Inspect(ctx context.Context, name string) (Holding, error) {
	inspector, ok := c.backend.(driver.Inspector)
	err := checkName(name)
	if err == nil {
		err = c.usable(ok, "inspect locks")
	}
	if err != nil {
		return Holding{}, c.wrap("inspect", name, err)
	}
	holding, err := inspector.Inspect(ctx, name)
	if err != nil {
		return Holding{}, c.wrap("inspect", name, classify(ctx, err))
	}
	return holding, nil
}

// Unlock takes the lock from holder, the id that Inspect shows, and hands it
// to the next in line. The victim is told who did it and why. If holder does
// not hold the lock, or not any more, nothing changes and [ErrLost] is
// returned.
func (c *Client) Unlock(ctx context.Context, name, holder, why string) error {
	revoker, ok := c.backend.(driver.Revoker)
	err := checkName(name)
	if err == nil && holder == "" {
		err = invalid("holder is empty: want the id that Inspect shows")
	}
	if err == nil {
		err = checkReason(why)
	}
	if err == nil {
		err = c.usable(ok, "unlock")
	}
	if err == nil {
		r := driver.Revocation{Name: name, Holder: holder, By: c.settings.owner, Why: why}
		err = classify(ctx, revoker.Revoke(ctx, r))
	}
	return c.wrap("unlock", name, err)
}

// usable says why an ability cannot be used now.
func (c *Client) usable(able bool, what string) error {
	if !able {
		return unsupported(what)
	}
	return c.closedErr()
}

func (c *Client) closedErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	return nil
}

// enter counts an operation that Close has to wait for.
func (c *Client) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.working.Add(1)
	return nil
}

// Close ends every lease of this client with [ReasonClosed], then releases
// those that are not detached, and frees what the client opened. It takes a
// few seconds at most where the lock service does not answer; what could not
// be released then ends with its TTL. Later calls return [ErrClosed]; a second
// Close waits for the first and returns nil.
func (c *Client) Close() error {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	c.mu.Unlock()
	if already {
		<-c.ended
		return nil
	}
	defer close(c.ended)
	// The holders are told before anything is given back, so that they can
	// stop while the locks are still theirs.
	leases := c.schedule.leases()
	for _, l := range leases {
		l.lose(&LostError{Reason: ReasonClosed})
	}
	c.end(ErrClosed)
	c.working.Wait()
	c.waiting.Close()
	// A grant that arrived while the client was being closed.
	leases = append(leases, c.schedule.leases()...)
	for _, l := range leases {
		l.lose(&LostError{Reason: ReasonClosed})
	}
	// The schedule goes on until here: a lease that waits for its release in
	// the background still ends in time.
	c.schedule.stop()
	c.releaseAll(leases)
	if err := c.backend.Close(); err != nil {
		return c.wrap("close", "", classify(context.Background(), err))
	}
	return nil
}

// releaseAll gives the locks back, a few at a time.
func (c *Client) releaseAll(leases []*Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseLimit)
	defer cancel()
	var releasing sync.WaitGroup
	slots := make(chan struct{}, maxWorkers)
	for _, l := range leases {
		if l.settings.detached {
			continue
		}
		slots <- struct{}{}
		releasing.Go(func() {
			l.abandon(ctx)
			<-slots
		})
	}
	releasing.Wait()
}

func (c *Client) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Name: name, Backend: c.info.Kind, Err: err}
}
