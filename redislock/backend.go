package redislock

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/record"
)

// minTTL is the floor: renewing three times within less is not a matter of
// milliseconds any more on a busy machine.
const minTTL = 100 * time.Millisecond

// features are what one Redis server can promise. Durable is not among them:
// a failover or a restart may lose the last tokens.
const features = driver.Fencing | driver.FairQueue | driver.MinHold | driver.Detached

// backend is a connection to one Redis server, replicated set or Cluster.
type backend struct {
	conn   Conn
	opts   Options
	keys   keyspace
	memory memory
	info   driver.Info
	client string // the random id of this client towards others

	describer *record.Describer
	timed     atomic.Pointer[times]
	lines     lines
	combiner  combiner
	gone      departed
	losses    *ear // where losses are heard; in a line's ear outside of a Cluster
	told      atomic.Pointer[driver.Told]

	life   context.Context // ends when the backend is closed
	end    context.CancelFunc
	closed atomic.Bool
	work   sync.WaitGroup
}

func newBackend(conn Conn, opts Options, url string) *backend {
	b := &backend{
		conn: conn, opts: opts, keys: newKeyspace(opts.Prefix, conn.Mode() == Cluster),
		info:   driver.Info{Kind: "redis", URL: url, Features: features, MinTTL: minTTL},
		client: driver.NewHolder()[:16],
	}
	b.describer = record.NewDescriber(b.client)
	b.memory.init(b.keys)
	b.combiner.b = b
	b.life, b.end = context.WithCancel(context.Background())
	b.lines.init(b)
	b.losses = newEar(b, func(string) Subscription {
		return Subscription{Channels: []string{b.lossChannel()}}
	})
	b.losses.hear = b.hearLoss
	b.losses.onEpoch = b.missedLosses
	return b
}

// Info implements [driver.Backend].
func (b *backend) Info() driver.Info { return b.info }

// Close ends waiting and listening; grants stand until their TTL is over.
func (b *backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.combiner.close()
	b.end()
	b.work.Wait()
	return b.conn.Close()
}

// usable refuses what comes after Close.
func (b *backend) usable(ctx context.Context) error {
	if b.closed.Load() {
		return fencehold.ErrClosed
	}
	return ctx.Err()
}

// TryAcquire implements [driver.Backend].
func (b *backend) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := b.usable(ctx); err != nil {
		return driver.Grant{}, err
	}
	k := b.memory.of(req.Name)
	if req.Barging {
		return b.tryAcquire(ctx, req, k, "barge")
	}
	if b.simple(k) {
		o := b.combiner.gather(k, req.Holder, b.timesOf(req.TTL).ttl, b.describe(req))
		if o == nil {
			defer b.combiner.landed() //nolint:contextcheck // what goes next is not this caller's
		} else if err := o.wait(ctx); err == nil {
			return b.grantOf(o, req.TTL), nil
		} else if !errors.Is(err, errNotSimple) {
			return driver.Grant{}, err
		}
	}
	return b.tryAcquire(ctx, req, k, "try")
}

// tryAcquire makes one attempt by a request of its own.
func (b *backend) tryAcquire(ctx context.Context, req driver.Request, k *known, mode string) (driver.Grant, error) {
	args := newArgs(req.Holder, b.timesOf(req.TTL).ttl, b.describe(req), mode, k.keys.where)
	defer args.free()
	sent := driver.Now()
	a, err := b.grant(ctx, req.Name, req.Holder, Call{Script: acquireScript, Keys: k.all, Args: args.list})
	switch {
	case err != nil:
		return driver.Grant{}, err
	case a.code != codeGranted:
		return driver.Grant{}, heldBy(a)
	}
	b.memory.cool()
	return b.granted(req.Name, req.Holder, sent, a), nil
}

// granted makes a grant of an answer, and sees to it that its loss is heard.
func (b *backend) granted(name, holder string, sent driver.Instant, a answer) driver.Grant {
	b.listenForLosses()
	return driver.Grant{Name: name, Holder: holder, Token: a.token, Sent: sent, TTL: a.ttl}
}

// Renew implements [driver.Backend].
func (b *backend) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	if err := b.usable(ctx); err != nil {
		return driver.Grant{}, err
	}
	sent := driver.Now()
	a, err := b.confirmed(ctx, b.renewal(grant, ttl))
	if err != nil {
		return driver.Grant{}, err
	}
	return renewed(grant, sent, a)
}

func (b *backend) renewal(grant driver.Grant, ttl time.Duration) Call {
	k := b.keys.of(grant.Name)
	return Call{
		Script: renewScript, Keys: []string{k.lock},
		Args: []string{grant.Holder, b.timesOf(ttl).ttl, k.where},
	}
}

func renewed(grant driver.Grant, sent driver.Instant, a answer) (driver.Grant, error) {
	if a.code != codeGranted {
		return driver.Grant{}, lostTo(a, grant)
	}
	grant.Token, grant.Sent, grant.TTL = a.token, sent, a.ttl
	return grant, nil
}

// RenewBatch implements [driver.BatchRenewer] in one round trip.
func (b *backend) RenewBatch(ctx context.Context, renewals []*driver.Renewal) {
	if b.opts.MinReplicas > 0 || len(renewals) == 1 || b.closed.Load() {
		for _, r := range renewals {
			r.Renewed, r.Err = b.Renew(ctx, r.Grant, r.TTL)
		}
		return
	}
	calls := make([]Call, len(renewals))
	for i, r := range renewals {
		calls[i] = b.renewal(r.Grant, r.TTL)
	}
	sent := driver.Now()
	b.conn.EvalMany(ctx, calls)
	for i, r := range renewals {
		a, err := answered(ctx, calls[i].Answer, calls[i].Err)
		if err != nil {
			r.Renewed, r.Err = driver.Grant{}, err
			continue
		}
		r.Renewed, r.Err = renewed(r.Grant, sent, a)
	}
}

// Release implements [driver.Backend]. For a wait that was given up it also
// leaves the line, under the holder id that the wait had last.
func (b *backend) Release(ctx context.Context, grant driver.Grant, keep time.Duration) error {
	if b.closed.Load() {
		return fencehold.ErrClosed
	}
	left, waited := b.gone.find(grant.Holder)
	if k := b.memory.of(grant.Name); !waited && keep <= 0 && b.simple(k) {
		o := b.combiner.gather(k, grant.Holder, "", "")
		if o == nil {
			defer b.combiner.landed() //nolint:contextcheck // what goes next is not this caller's
		} else if err := o.wait(ctx); !errors.Is(err, errNotSimple) {
			return err
		} else {
			b.memory.contest(k)
		}
	}
	return b.releaseAlone(ctx, grant, left, keep)
}

// releaseAlone releases by a request of its own; left is of a wait that was given
// up.
func (b *backend) releaseAlone(ctx context.Context, grant driver.Grant, left departure, keep time.Duration) error {
	a, err := b.release(ctx, grant.Name, cmp.Or(left.holder, grant.Holder), left.entry, keep)
	if left.holder != "" && err == nil {
		b.gone.released(grant.Holder)
	}
	switch {
	case err != nil:
		return err
	case a.code != codeDone:
		return lostTo(a, grant)
	}
	return nil
}

func (b *backend) release(ctx context.Context, name, holder, entry string, keep time.Duration) (answer, error) {
	k := b.memory.of(name)
	args := newArgs(holder, k.keys.where)
	defer args.free()
	switch {
	case keep > 0:
		args.add(millis(keep), record.Head+driver.NewHolder()+":", entry)
	case entry != "":
		args.add("0", "", entry)
	}
	a, err := b.eval(ctx, Call{Script: releaseScript, Keys: k.all, Args: args.list})
	if code(err) == "TRYAGAIN" && keep <= 0 {
		// While the slot moves, the keys of the name are on two nodes; this one is on one.
		return b.eval(ctx, Call{
			Script: releaseOneScript, Keys: k.all[:1], Args: []string{holder},
		})
	}
	return a, err
}

func (b *backend) eval(ctx context.Context, call Call) (answer, error) {
	text, err := b.conn.Eval(ctx, call)
	return answered(ctx, text, err)
}

func answered(ctx context.Context, text string, err error) (answer, error) {
	if err != nil {
		return answer{}, explain(ofContext(ctx, err))
	}
	return parseAnswer(text)
}

// ofContext returns ctx's error for a time-out that its deadline is the reason
// of: a connection sees the deadline a moment before ctx does.
func ofContext(ctx context.Context, err error) error {
	deadline, ok := ctx.Deadline()
	late := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
	if ok && late && time.Until(deadline) < deadlineNoise {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// deadlineNoise is how much sooner that may be.
const deadlineNoise = 10 * time.Millisecond
