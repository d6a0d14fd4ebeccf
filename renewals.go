package fencehold

import (
	"context"
	"sync"
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

// add queues a lease, and reports whether anybody will send it: nobody does once
// the client is closed. It does not block: the caller holds the lease's mutex.
func (r *renewals) add(l *Lease) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.workers < maxWorkers && (r.batch == nil || r.workers == 0) && r.client.enter() == nil {
		r.workers++
		go r.work()
	}
	if r.workers == 0 {
		return false
	}
	r.queue = append(r.queue, l)
	return true
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
// hurried of them may.
func (r *renewals) renewBatch(due []*Lease) {
	var leases []*Lease
	var batch []*driver.Renewal
	deadline := time.Now().Add(maxDuration)
	for _, l := range due {
		ctx, renewal, ok := l.send()
		if !ok {
			continue
		}
		if d, _ := ctx.Deadline(); d.Before(deadline) {
			deadline = d
		}
		leases, batch = append(leases, l), append(batch, &renewal)
	}
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	r.batch.RenewBatch(ctx, batch)
	for i, l := range leases {
		l.settle(batch[i].Renewed, batch[i].Err)
	}
}
