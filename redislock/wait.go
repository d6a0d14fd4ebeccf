package redislock

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/redislock/internal/record"
)

// A wait is one request that stands in line.
type wait struct {
	line  *line
	known *known
	req   driver.Request
	meta  string
	// times are what the server is told of the TTL.
	times *times

	holder string // a new one after each time that the place was lost
	ticket string // keeps the place
	joined bool   // the server has said "waiting"
	stood  bool   // it has said so once, perhaps under another holder id
	last   error  // what was heard last: who holds the lock, or why nothing is known

	mu   sync.Mutex
	call chan struct{} // there is news; made when the wait first rests
	news news
}

// news is what has come in for a wait.
type news struct {
	push  *push         // a grant
	poked bool          // check now
	front bool          // this is the front now,
	left  time.Duration // and that is left to the holder
}

// push is a grant that the server made without being asked.
type push struct {
	epoch  string
	holder string
	token  fence.Token
	ttl    time.Duration
}

// A checking wait comes slack after the holder's time, and rankStep later for
// each one before it.
const (
	slack    = 2 * time.Millisecond
	rankStep = 5 * time.Millisecond
	maxRank  = 200
)

// The front looks after a stranger, who will leave without a word, every
// minStrange to maxStrange; the others hardly at all.
const (
	minStrange  = 20 * time.Millisecond
	maxStrange  = 40 * time.Millisecond
	restStrange = 5 * time.Second
)

// Acquire implements [driver.Queuer].
func (b *backend) Acquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := b.usable(ctx); err != nil {
		return driver.Grant{}, err
	}
	k := b.memory.of(req.Name)
	if !req.Barging && b.memory.calm(k) && !b.gone.knows(req.Holder) {
		grant, err := b.patiently(ctx, req)
		if !errors.Is(err, fencehold.ErrHeld) {
			return grant, err
		}
		b.memory.contest(k)
	}
	return b.stand(ctx, req, k)
}

// stand waits in line.
func (b *backend) stand(ctx context.Context, req driver.Request, k *known) (driver.Grant, error) {
	l := b.lines.get(k.keys.tag)
	defer b.lines.put(l)
	w := &wait{line: l, known: k, req: req, meta: b.describe(req), times: b.timesOf(req.TTL), ticket: "last"}
	w.holder = b.holderFor(req)
	if ticket, ok := l.vacancies.take(req.Name); ok && !req.Barging {
		w.ticket = ticket
	}
	if req.Barging {
		w.ticket = "first"
	}
	grant, err := w.begin(ctx)
	if err != nil {
		w.depart()
	}
	return grant, err
}

// holderFor is the holder id of a wait: that of the request, or where the
// request is a repeated one, what the wait had come to. If the grant of that is
// being returned, a new one.
func (b *backend) holderFor(req driver.Request) string {
	if _, repeated := b.gone.find(req.Holder); !repeated {
		return req.Holder
	}
	if holder := b.gone.resume(req.Holder); holder != "" {
		return holder
	}
	return driver.NewHolder()
}

// begin listens before it waits; but whoever finds the lock free needs no
// inbox.
func (w *wait) begin(ctx context.Context) (driver.Grant, error) {
	b := w.line.b
	req := w.req
	req.Holder = w.holder
	for limit := maxDeaf; !w.line.ear.epoch().stands; limit = maxPoll {
		grant, err := b.patiently(ctx, req)
		if !errors.Is(err, fencehold.ErrHeld) {
			return grant, err
		}
		// As long as nobody lets us listen, waiting is polling.
		denied := w.line.ear.await(ctx, limit)
		if ctx.Err() != nil {
			return driver.Grant{}, ended(ctx, err)
		}
		if denied != nil {
			return b.poll(ctx, req, err)
		}
	}
	return w.run(ctx)
}

// run waits for the grant.
func (w *wait) run(ctx context.Context) (driver.Grant, error) {
	w.line.enter(w)
	defer func() { w.line.leave(w) }()
	began := time.Now()
	for {
		grant, pause, err := w.ask(ctx)
		switch {
		case err == nil:
			return grant, nil
		case ctx.Err() != nil:
			return driver.Grant{}, ended(ctx, w.last)
		case !errors.Is(err, errWaiting) && !w.bears(err, time.Since(began)):
			return driver.Grant{}, err
		}
		grant, err = w.rest(ctx, pause)
		if !errors.Is(err, errWaiting) {
			return grant, err
		}
	}
}

// errWaiting says that the wait goes on.
var errWaiting = errors.New("waiting")

// ask joins the line, or checks where the wait stands. It returns how long to
// rest if that is not a grant.
func (w *wait) ask(ctx context.Context) (driver.Grant, time.Duration, error) {
	b := w.line.b
	mode := "wait"
	if w.joined {
		mode = "check"
	}
	now := w.line.ear.epoch()
	sent := driver.Now()
	a, err := b.grant(ctx, w.req.Name, w.holder, Call{
		Script: acquireScript, Keys: w.known.all,
		Args: []string{
			w.holder, w.times.ttl, w.meta, mode, w.known.keys.where,
			b.client + "\n" + w.times.grant + "\n" + now.channel + "\n" + w.times.life + "\n" + w.ticket,
		},
	})
	switch {
	case err != nil:
		if ctx.Err() == nil {
			w.last = err
		}
		return driver.Grant{}, backoff(), err
	case a.code == codeGranted && a.ttl < grantTTL(w.req.TTL)/2:
		// A push was missed, and most of its short grant is over.
		grant, err := w.renew(ctx)
		return grant, backoff(), err
	case a.code == codeGranted:
		if !w.stood {
			b.memory.cool()
		}
		return b.granted(w.req.Name, w.holder, sent, a), 0, nil
	case a.code == codeUnknown:
		w.rename()
		return driver.Grant{}, 0, errWaiting
	}
	b.memory.contest(w.known)
	w.joined, w.stood, w.ticket, w.last = true, true, a.place.ticket, heldBy(a)
	w.line.learn(sent, now.id, a.seen)
	return driver.Grant{}, restFor(a), errWaiting
}

// rename takes a new holder id and keeps the place: a push for the old one
// must not be taken for a grant of the new.
func (w *wait) rename() {
	w.line.leave(w)
	w.holder, w.joined = driver.NewHolder(), false
	w.read()
	w.line.enter(w)
}

// restFor is how long to wait before checking, if nothing is heard.
func restFor(a answer) time.Duration {
	_, ours := record.Parse(a.value)
	switch {
	case a.kind == "s" && ours && a.ttl >= 0:
		return a.ttl + slack + time.Duration(min(a.place.rank, maxRank))*rankStep
	case a.place.rank == 0:
		return minStrange + rand.N(maxStrange-minStrange)
	case a.ttl >= 0:
		return min(restStrange, a.ttl+slack+time.Duration(min(a.place.rank, maxRank))*rankStep)
	}
	return restStrange
}

// backoff is the pause after a request that failed.
func backoff() time.Duration { return 30*time.Millisecond + rand.N(40*time.Millisecond) }

// rest sleeps until something is to be done: a grant was pushed, or it is time
// to check.
func (w *wait) rest(ctx context.Context, pause time.Duration) (driver.Grant, error) {
	call := w.listen()
	due := time.Now().Add(pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-call:
			n := w.read()
			switch {
			case n.push != nil:
				return w.take(ctx, *n.push)
			case n.poked:
				return driver.Grant{}, errWaiting
			}
			// Word of being the front may be older than the last answer: it
			// brings the check forward, and never puts it off.
			if first := time.Now().Add(n.left + slack); n.front && first.Before(due) {
				due = first
				timer.Reset(n.left + slack)
			}
		case <-timer.C:
			return driver.Grant{}, errWaiting
		case <-ctx.Done():
			return driver.Grant{}, ended(ctx, w.last)
		case <-w.line.b.life.Done():
			return driver.Grant{}, fencehold.ErrClosed
		}
	}
}

// take makes a lease of a push. A push without a base, or that came late, is
// answered by a renewal: if the value is ours, the lock is.
func (w *wait) take(ctx context.Context, p push) (driver.Grant, error) {
	b := w.line.b
	// Whoever may publish may make the time longer than was asked for.
	ttl := min(p.ttl, grantTTL(w.req.TTL))
	grant := driver.Grant{Name: w.req.Name, Holder: w.holder, Token: p.token, TTL: ttl}
	base, ok := w.line.trusted(p)
	if ok && b.opts.MinReplicas == 0 && base.sent.Elapsed() < ttl/2 {
		grant.Sent = base.sent
		b.listenForLosses()
		return grant, nil
	}
	grant, err := w.renew(ctx)
	if err != nil && ctx.Err() != nil {
		return driver.Grant{}, ended(ctx, w.last)
	}
	return grant, err
}

// renew makes a full grant of what may be one. It returns errWaiting if there
// is none, or if that is not known: the check that follows says which.
func (w *wait) renew(ctx context.Context) (driver.Grant, error) {
	grant := driver.Grant{Name: w.req.Name, Holder: w.holder, TTL: w.req.TTL, Sent: driver.Now()}
	grant, err := w.line.b.Renew(ctx, grant, w.req.TTL)
	if err != nil {
		return driver.Grant{}, errWaiting
	}
	w.line.b.listenForLosses()
	return grant, nil
}

// depart gives the wait up. Package fencehold has it released, which takes it
// out of the line, or repeats it; what is needed for that is left behind.
func (w *wait) depart() {
	w.line.b.gone.add(departure{
		name: w.req.Name, first: w.req.Holder, holder: w.holder, entry: w.entry(),
		until: time.Now().Add(w.req.TTL + departedLasts),
	})
	if w.joined && !w.req.Barging {
		w.line.vacancies.leave(w.req.Name, w.ticket)
	}
}

// entry is how the wait stands in line.
func (w *wait) entry() string {
	return w.holder + " " + w.line.b.client + " " + w.times.grant + " " + w.meta
}

// bears reports whether the wait survives an error. One that stands in line
// outlasts whatever may pass; one that does not yet stand there outlasts a
// failover.
func (w *wait) bears(err error, waited time.Duration) bool {
	if w.stood {
		return passes(err) || code(err) == "OOM" || code(err) == "MISCONF" || errors.Is(err, errUnconfirmed)
	}
	return w.line.b.awaits(err, waited)
}

// listen returns the channel that news are called out on. What came before that
// is called out at once.
func (w *wait) listen() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call == nil {
		w.call = make(chan struct{}, 1)
		if w.news != (news{}) {
			w.call <- struct{}{}
		}
	}
	return w.call
}

// tell adds to the news.
func (w *wait) tell(add func(*news)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.news)
	select {
	case w.call <- struct{}{}:
	default: // nobody rests yet, or has been called and not yet read
	}
}

// read takes the news.
func (w *wait) read() news {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.news
	w.news = news{}
	return n
}

// poke has the wait check at once.
func (w *wait) poke() { w.tell(func(n *news) { n.poked = true }) }

// granted gives the wait a push.
func (w *wait) granted(p push) { w.tell(func(n *news) { n.push = &p }) }

// promote tells the wait that it is the front now, and how much time is left to
// the holder. It has to look after a stranger without an end at once.
func (w *wait) promote(left time.Duration) {
	w.tell(func(n *news) { n.front, n.left, n.poked = true, left, n.poked || left < 0 })
}
