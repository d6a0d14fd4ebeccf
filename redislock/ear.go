package redislock

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
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
	mu     sync.Mutex
	now    string        // the epoch that stands, "" while there is none
	latest string        // the last one that stood
	change chan struct{} // closed at each change
	denied error         // the server does not let us listen
	cut    context.CancelFunc
}

func newEar(b *backend, listen func(epoch string) Subscription) *ear {
	e := &ear{b: b, listen: listen, change: make(chan struct{})}
	e.life, e.stop = context.WithCancel(b.life)
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
		err := explain(e.attend())
		wait := pause + rand.N(pause)
		if time.Since(began) > maxDeaf {
			pause = minDeaf
		}
		if code(err) == "NOPERM" {
			wait = deniedDeaf
			e.set("", err)
		} else {
			e.set("", nil)
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
	epoch := strings.ToLower(driver.NewHolder()[:8])
	s := e.listen(epoch)
	s.Message = func(payload string) { e.hear(epoch, payload) }
	s.Ready = func() {
		e.set(epoch, nil)
		if e.onEpoch != nil {
			e.onEpoch()
		}
	}
	return e.b.conn.Subscribe(ctx, s)
}

// again ends the epoch, if it still stands, so that another begins.
func (e *ear) again(epoch string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == epoch && e.cut != nil {
		e.cut()
	}
}

func (e *ear) set(epoch string, denied error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == epoch && errors.Is(denied, e.denied) {
		return
	}
	e.now, e.denied = epoch, denied
	if epoch != "" {
		e.latest = epoch
	}
	close(e.change)
	e.change = make(chan struct{})
}

// epoch returns the one that stands, or the last one, and whether it stands.
func (e *ear) epoch() (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.latest, e.now != ""
}

// await starts the ear and returns once an epoch stands. It returns an error
// if the server forbids listening, or ctx's.
func (e *ear) await(ctx context.Context) error {
	e.start()
	for {
		e.mu.Lock()
		now, denied, change := e.now, e.denied, e.change
		e.mu.Unlock()
		if now != "" || denied != nil {
			return denied
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
