package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
)

var errCut = errors.New("connection cut")

// faulty is a backend whose answers get lost on the way. It has the methods of
// every backend and no other abilities, so that the core's own ways are tested
// on top of it too.
type faulty struct {
	driver.Backend

	mu    sync.Mutex
	lose  map[string]int // how many of the next answers to an operation are lost
	deny  map[string]error
	calls map[string]int
}

func newFaulty(backend driver.Backend) *faulty {
	return &faulty{Backend: backend, lose: map[string]int{}, deny: map[string]error{}, calls: map[string]int{}}
}

// loseReplies loses the next n answers to op.
func (f *faulty) loseReplies(op string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose[op] = n
}

// denyAll lets op fail with err before it reaches the service.
func (f *faulty) denyAll(op string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deny[op] = err
}

// count returns how often op was called.
func (f *faulty) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

func (f *faulty) before(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	return f.deny[op]
}

func (f *faulty) after(op string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lose[op] > 0 {
		f.lose[op]--
		return errCut
	}
	return err
}

// TryAcquire may lose its answer.
func (f *faulty) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	if err := f.before("try"); err != nil {
		return driver.Grant{}, err
	}
	grant, err := f.Backend.TryAcquire(ctx, req)
	return grant, f.after("try", err)
}

// Renew may lose its answer.
func (f *faulty) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	if err := f.before("renew"); err != nil {
		return driver.Grant{}, err
	}
	grant, err := f.Backend.Renew(ctx, grant, ttl)
	return grant, f.after("renew", err)
}

// Release may lose its answer.
func (f *faulty) Release(ctx context.Context, grant driver.Grant, keep time.Duration) error {
	if err := f.before("release"); err != nil {
		return err
	}
	return f.after("release", f.Backend.Release(ctx, grant, keep))
}
