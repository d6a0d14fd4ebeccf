package memlock

import (
	"context"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/fencehold/fencehold/driver"
)

// List yields the locks that are held.
func (b *backend) List(ctx context.Context, prefix string) iter.Seq2[driver.Holding, error] {
	return func(yield func(driver.Holding, error) bool) {
		var names []string
		err := b.call(ctx, "inspect", prefix, "", func() {
			names = slices.Sorted(maps.Keys(b.server.locks))
		})
		if err != nil {
			yield(driver.Holding{}, err)
			return
		}
		for _, name := range names {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			holding, err := b.Inspect(ctx, name)
			if err == nil && !holding.Held {
				continue
			}
			holding.Waiters = nil
			if !yield(holding, err) || err != nil {
				return
			}
		}
	}
}

// Inspect shows one lock.
func (b *backend) Inspect(ctx context.Context, name string) (driver.Holding, error) {
	holding := driver.Holding{Name: name, Key: name}
	err := b.call(ctx, "inspect", name, "", func() {
		if l := b.server.lookup(name); l != nil {
			b.server.show(l, &holding)
		}
	})
	return holding, err
}

func (s *Server) show(l *lock, h *driver.Holding) {
	h.Held, h.Kept = l.taken, l.kept
	h.Holder, h.Owner, h.Labels = l.req.Holder, l.req.Owner, maps.Clone(l.req.Labels)
	h.Token, h.Since, h.TTL = l.token, l.since, l.expires-s.now()
	h.PID = os.Getpid()
	h.Waiting = len(l.queue)
	for _, w := range l.queue {
		h.Waiters = append(h.Waiters, driver.Waiter{Owner: w.req.Owner, PID: os.Getpid(), Since: w.since})
	}
}
