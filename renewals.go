package fencehold

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// maxWorkers bounds how many requests of its own a client makes at once, and
// maxBatch how many leases are renewed in one.
const (
	maxWorkers = 16
	maxBatch   = 256
)

// renewals sends what the schedule found due, on goroutines that live while
// there is something to send: the schedule itself never waits for a service.
type renewals struct {
	client *Client
	batch  driver.BatchRenewer // nil if the backend renews one by one

	mu      sync.Mutex
	queue   []*Lease
	workers int
}

func (r *renewals) init(c *Client) {
	r.client = c
	r.batch, _ = c.backend.(driver.BatchRenewer)
}

// add queues a lease until the next flush. It does not block: the caller holds
// the lease's mutex.
func (r *renewals) add(l *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, l)
}

// flush has the queue sent: by one worker if the backend takes batches, else by
// as many as are needed. Workers that wait for an answer do not hold up what
// comes after them. Once the client is closed, nothing is sent.
func (r *renewals) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	needed := len(r.queue)
	if r.batch != nil {
		needed = min(needed, 1)
	}
	for ; needed > 0 && r.workers < maxWorkers; needed-- {
		if r.client.enter() != nil {
			return
		}
		r.workers++
		go r.work()
	}
}

func (r *renewals) work() {
	defer r.client.working.Done()
	for {
		due := r.take()
		switch {
		case len(due) == 0:
			return
		case r.batch != nil:
			r.renewBatch(due)
		default:
			r.renew(due[0])
		}
	}
}

// take returns what to send next; nothing ends the worker.
func (r *renewals) take() []*Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), 1)
	if r.batch != nil {
		n = min(len(r.queue), maxBatch)
	}
	if n == 0 {
		r.workers--
		r.queue = nil
		return nil
	}
	due := r.queue[:n]
	r.queue = r.queue[n:]
	return due
}

func (r *renewals) renew(l *Lease) {
	ctx, renewal, ok := l.send()
	if !ok {
		return
	}
	l.settle(r.client.backend.Renew(ctx, renewal.Grant, renewal.TTL))
}

// renewBatch sends one request for all, which waits no longer than the most
// hurried of them may, and not at all once all of them are over.
func (r *renewals) renewBatch(due []*Lease) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var leases []*Lease
	var batch []*driver.Renewal
	var waiting atomic.Int64
	waiting.Store(1) // until all of them are in
	for _, l := range due {
		one, renewal, ok := l.send()
		if !ok {
			continue
		}
		leases, batch = append(leases, l), append(batch, &renewal)
		if deadline, ok := one.Deadline(); ok {
			timer := time.AfterFunc(time.Until(deadline), cancel)
			defer timer.Stop()
		}
		waiting.Add(1)
		defer context.AfterFunc(one, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})()
	}
	if len(batch) == 0 {
		return
	}
	if waiting.Add(-1) == 0 {
		cancel()
	}
	r.batch.RenewBatch(ctx, batch)
	for i, l := range leases {
		err := batch[i].Err
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = context.DeadlineExceeded // what it was cancelled for
		}
		l.settle(batch[i].Renewed, err)
	}
}
