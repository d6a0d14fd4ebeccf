package fencehold

import (
	"log/slog"
	"sync"
	"time"
)

// Hooks are told what happens to the leases of a client. Each may be nil. They
// are called one at a time, in the order of the events, on a goroutine that
// does nothing else: a slow hook delays later hooks, never a renewal.
type Hooks struct {
	// Acquired: a lock was granted. Event.Wait says how long that took.
	Acquired func(Event)
	// Renewed: a renewal was confirmed. Event.Remaining says how much of the
	// lease was left when it was.
	Renewed func(Event)
	// RenewalFailed: the outcome of a renewal is unknown; it is tried again.
	RenewalFailed func(Event)
	// Expiring: the early warning of [Lease.Expiring].
	Expiring func(Event)
	// RedundancyLost: a lock that is kept on several servers is on no more of them
	// than it takes, so that one that fails can cost the lease. It is called once
	// each time that this comes about; see [Lease.Redundancy]. Event.Err says on
	// which servers the lock is not, nil if the lock service does not tell.
	RedundancyLost func(Event)
	// Lost: the lease ended without a release. Event.Err says how.
	Lost func(Event)
	// Released: Release was called on a lease that was held.
	Released func(Event)
}

// Event is one moment in the life of a lease.
type Event struct {
	// Name is the lock's, Holder and Token the grant's.
	Name   string
	Holder string
	Token  Token
	// Owner is what the holder calls itself.
	Owner string
	// Wait is the time from the call to the grant.
	Wait time.Duration
	// Held is the time since the grant.
	Held time.Duration
	// Remaining is the time left before the lease would end.
	Remaining time.Duration
	// Err is what went wrong, if anything did.
	Err error
}

// A herald calls hooks and writes the log, away from everything that is in a
// hurry. Its goroutine lives while there is something to tell.
type herald struct {
	hooks  Hooks
	logger *slog.Logger
	kind   string

	mu      sync.Mutex
	queue   []func()
	running bool
}

// silent reports whether there is nobody to tell.
func (h *herald) silent(hook func(Event)) bool { return hook == nil && h.logger == nil }

// tell queues one event. It does not block.
func (h *herald) tell(hook func(Event), level slog.Level, text string, e Event) {
	h.post(func() {
		if h.logger != nil {
			h.log(level, text, e)
		}
		if hook != nil {
			hook(e)
		}
	})
}

func (h *herald) post(job func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queue = append(h.queue, job)
	if !h.running {
		h.running = true
		go h.run()
	}
}

func (h *herald) run() {
	// A hook that ends its goroutine, as a failing test does, takes only its
	// own event along.
	told := false
	defer func() {
		if !told {
			go h.run()
		}
	}()
	for {
		job := h.next()
		if job == nil {
			told = true
			return
		}
		job()
	}
}

// next takes the first of the queue. Ending and finding nothing to do are one
// step: an event that comes after it starts another goroutine.
func (h *herald) next() func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		h.queue, h.running = nil, false
		return nil
	}
	job := h.queue[0]
	h.queue = h.queue[1:]
	return job
}

func (h *herald) log(level slog.Level, text string, e Event) {
	attrs := []any{
		"lock", e.Name, "token", int64(e.Token), "holder", e.Holder, "backend", h.kind,
		"wait", e.Wait, "hold", e.Held,
	}
	if e.Err != nil {
		attrs = append(attrs, "err", e.Err)
	}
	h.logger.Log(nil, level, text, attrs...) //nolint:staticcheck // no context belongs to an event
}
