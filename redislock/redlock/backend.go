package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// minTTL is the floor: renewing three times within less is not a matter of
// milliseconds any more on a busy machine.
const minTTL = 100 * time.Millisecond

// features are what independent servers can promise. There is no order of waiters
// across them, and what is lost with the memory of a majority is lost.
const features = driver.Fencing | driver.Detached

// backend is a connection to a set of independent Redis servers.
type backend struct {
	nodes     []*node
	majority  int
	members   *members
	opts      Options
	info      driver.Info
	client    string // the random id of this client towards others
	describer *record.Describer
	keys      keyspace
	limits    limits // of rounds
	pays      limits // of what is owed
	holds     holds
	told      atomic.Pointer[driver.Told]

	sameMu   sync.Mutex // guards checking that the nodes are distinct servers
	checked  atomic.Bool
	complete atomic.Bool // the nodes are compared, and who comes later is by itself

	listening atomic.Int32  // how many ears listen
	hearing   chan struct{} // a majority has begun to; passed from one who waits for it to the next
	life      context.Context
	end       context.CancelFunc
	cut       context.CancelFunc // ends requests, some time after the life
	mu        sync.Mutex         // guards closed, and that no work begins after it
	closed    bool
	work      sync.WaitGroup
}

// membersLimit is how long one node may take to say what it knows of its membership.
const membersLimit = time.Second

func newBackend(nodes []*node, opts Options) *backend {
	b := &backend{
		nodes: nodes, majority: quorum.Majority(len(nodes)), opts: opts,
		hearing: make(chan struct{}, 1), client: strings.ToLower(driver.NewHolder()[:16]),
		info: driver.Info{
			Kind: "redlock", URL: opts.url, Features: features, MinTTL: minTTL, MaxTTL: opts.MaxTTL,
		},
	}
	b.describer = record.NewDescriber(b.client)
	b.keys.init(opts.Prefix)
	b.holds.init()
	b.life, b.end = context.WithCancel(context.Background())
	b.limits.life, b.cut = context.WithCancel(context.Background())
	b.pays.life = b.limits.life
	seats := make([]*seat, len(nodes))
	for i, n := range nodes {
		seats[i] = n.seat
		n.ear = newEar(b, n)
	}
	b.members = newMembers(seats, title{nodes: len(nodes), maxTTL: opts.MaxTTL}, b.keys.memberKeys, membersLimit)
	b.members.work, b.members.anyTTL = &b.work, opts.anyTTL
	return b
}

// Info implements [driver.Backend].
func (b *backend) Info() driver.Info { return b.info }

// Watch implements [driver.Watcher].
func (b *backend) Watch(told driver.Told) { b.told.Store(&told) }

// Close ends waiting and listening, and tries once more to give back what is owed;
// grants stand until their TTL is over.
func (b *backend) Close() error {
	b.mu.Lock()
	already := b.closed
	b.closed = true
	b.mu.Unlock()
	if already {
		return nil
	}
	b.end()
	cutting := time.AfterFunc(lastRequests, b.cut)
	b.work.Wait()
	cutting.Stop()
	b.cut()
	b.closeNodes()
	return nil
}

// closeLimit is how long Close waits for connections to end: that of a silent server
// ends only after the limit of its last request.
const closeLimit = 200 * time.Millisecond

// lastRequests is how long Close lets requests go on that are under way.
const lastRequests = time.Second

// closeNodes closes all connections at once. Those that have not ended within
// closeLimit go on ending.
func (b *backend) closeNodes() {
	var closing sync.WaitGroup
	for _, n := range b.nodes {
		closing.Go(n.close)
	}
	closed := make(chan struct{})
	go func() {
		closing.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeLimit):
	}
}

// begin counts work that Close waits for, and refuses what comes after Close.
func (b *backend) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fencehold.ErrClosed
	}
	b.work.Add(1)
	return nil
}

// enter is begin for a request of a context that may be over.
func (b *backend) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return b.begin()
}

// ready returns the marker of the set, after the nodes were found to be different
// servers.
func (b *backend) ready(ctx context.Context) (string, error) {
	if !b.checked.Load() {
		if err := b.check(ctx); err != nil {
			return "", err
		}
	}
	return b.members.marker(ctx)
}

// check compares the nodes once, when the first request is made.
func (b *backend) check(ctx context.Context) error {
	b.sameMu.Lock()
	defer b.sameMu.Unlock()
	if b.checked.Load() {
		return nil
	}
	err := b.distinct(ctx)
	if err == nil {
		b.checked.Store(true)
	}
	return err
}

// readyFor is ready for a lock with that TTL, which the marker has to allow for.
func (b *backend) readyFor(ctx context.Context, ttl time.Duration) (string, error) {
	marker, err := b.ready(ctx)
	if err == nil && ttl > parseTitle(marker).maxTTL {
		err = tooLong(ttl, parseTitle(marker).maxTTL)
	}
	return marker, err
}

// checkTTL refuses what the marker of the set does not allow for, as far as that is
// known without I/O.
func (b *backend) checkTTL(ttl time.Duration) error {
	if longest, known := b.maxTTL(); known && ttl > longest {
		return tooLong(ttl, longest)
	}
	return nil
}

// maxTTL is the longest TTL for this client: its own, or that of the set if it has none,
// which is known once the set is. Until then it is the default.
func (b *backend) maxTTL() (longest time.Duration, known bool) {
	if !b.opts.anyTTL {
		return b.opts.MaxTTL, true
	}
	if marker := b.members.known.Load(); marker != nil {
		return parseTitle(*marker).maxTTL, true
	}
	return b.opts.MaxTTL, false
}

func tooLong(ttl, longest time.Duration) error {
	return refuse("TTL %v: at most %v, which is the max_ttl of this set", ttl, longest)
}

// limits are the contexts that bound requests to one node. Rounds that begin at
// about the same time share one: a timer for each would be a good part of what
// they cost.
type limits struct {
	life   context.Context // of the requests
	latest atomic.Pointer[limit]
}

type limit struct {
	of     time.Duration
	ctx    context.Context
	cancel context.CancelFunc // it ends by itself
	until  time.Time          // no more rounds share it after that
}

// limitShare is which part of a limit it is shared for, and longer than it.
const limitShare = 8

// context returns one that ends after d, or a little later.
func (l *limits) context(d time.Duration) context.Context {
	now := time.Now()
	if latest := l.latest.Load(); latest != nil && latest.of == d && now.Before(latest.until) {
		return latest.ctx
	}
	next := &limit{of: d, until: now.Add(d / limitShare)}
	next.ctx, next.cancel = context.WithTimeout(context.Background(), d+d/limitShare)
	stop := context.AfterFunc(l.life, next.cancel)
	context.AfterFunc(next.ctx, func() { stop() })
	l.latest.Store(next)
	return next.ctx
}

// The bounds of the time for one node.
const (
	minNodeTimeout = 20 * time.Millisecond
	maxNodeTimeout = time.Second
)

// nodeTimeout is how long to wait for one node.
func (b *backend) nodeTimeout(ttl time.Duration) time.Duration {
	if b.opts.NodeTimeout > 0 {
		return b.opts.NodeTimeout
	}
	return min(max(ttl/10, minNodeTimeout), maxNodeTimeout)
}

// ended joins the end of a wait with what was known last.
func ended(ctx context.Context, last error) error {
	if last == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ctx.Err(), last)
}
