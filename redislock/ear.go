package redislock

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// The pause before listening again after a failure doubles up to maxDeaf; one
// that only an operator can end is waited out longer.
const (
	minDeaf    = 5 * time.Millisecond
	maxDeaf    = time.Second
	deniedDeaf = 10 * time.Second
)

// An ear listens for as long as the backend lives, over as many subscriptions
// as it takes. Each of them is an epoch.
type ear struct {
	b       *backend
	listen  func(epoch string) Subscription
	hear    func(epoch, payload string)
	onEpoch func() // called when an epoch has begun

	life   context.Context // ends with the backend, or when it is stopped
	stop   context.CancelFunc
	once   sync.Once
	latest atomic.Pointer[epoch] // the one that stands, or the last that did
	mu     sync.Mutex
	change chan struct{} // closed at each change
	denied error         // the server does not let us listen
	cut    context.CancelFunc
}

// An epoch is the time of one subscription.
type epoch struct {
	id      string
	channel string // the first one listened to
	stands  bool
}

func newEar(b *backend, listen func(epoch string) Subscription) *ear {
	e := &ear{b: b, listen: listen, change: make(chan struct{})}
	e.life, e.stop = context.WithCancel(b.life)
	e.latest.Store(&epoch{channel: listen("").Channels[0]})
	return e
}

// start begins to listen, once.
func (e *ear) start() {
	e.once.Do(func() { e.b.work.Go(e.run) })
}

func (e *ear) run() {
	pause := minDeaf
	for e.life.Err() == nil {
		began := time.Now()
		err := e.attend()
		if time.Since(began) > maxDeaf {
			pause = minDeaf
		}
		wait := pause + rand.N(pause)
		if deniedBy(err) != nil {
			wait = deniedDeaf
		}
		select {
		case <-time.After(wait):
		case <-e.life.Done():
		}
		pause = min(2*pause, maxDeaf)
	}
}

// attend listens for one epoch.
func (e *ear) attend() error {
	ctx, cancel := context.WithCancel(e.life)
	defer cancel()
	e.mu.Lock()
	e.cut = cancel
	e.mu.Unlock()
	id := strings.ToLower(driver.NewHolder()[:8])
	s := e.listen(id)
	s.Message = func(payload string) { e.hear(id, payload) }
	s.Ready = func() {
		e.set(epoch{id: id, channel: s.Channels[0], stands: true}, nil)
		if e.onEpoch != nil {
			e.onEpoch()
		}
	}
	err := e.b.conn.Subscribe(ctx, s)
	over := e.epoch()
	over.stands = false
	e.set(over, deniedBy(err))
	return err
}

// deniedBy returns an error that only an operator can mend, or nil.
func deniedBy(err error) error {
	if err = explain(err); code(err) == "NOPERM" {
		return err
	}
	return nil
}

// again ends the epoch, if it still stands, so that another begins.
func (e *ear) again(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.epoch(); now.stands && now.id == id && e.cut != nil {
		e.cut()
	}
}

func (e *ear) set(now epoch, denied error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.latest.Store(&now)
	e.denied = denied
	close(e.change)
	e.change = make(chan struct{})
}

// epoch returns the one that stands, or the last one that did.
func (e *ear) epoch() epoch { return *e.latest.Load() }

// await starts the ear and returns once an epoch stands, or limit is over. It
// returns an error if the server forbids listening.
func (e *ear) await(ctx context.Context, limit time.Duration) error {
	e.start()
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		e.mu.Lock()
		denied, change := e.denied, e.change
		e.mu.Unlock()
		if denied != nil || e.epoch().stands {
			return denied
		}
		select {
		case <-change:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
