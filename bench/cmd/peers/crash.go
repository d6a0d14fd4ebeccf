package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fencehold/fencehold/bench/internal/figure"
	"github.com/fencehold/fencehold/bench/internal/peer"
)

// The crash of a holder: a waiter gets the lock when the TTL is over, and this
// much later.
var (
	crashMedian = measure{name: "holder crashes: next grant after TTL, p50", unit: "ms"}
	crashLate   = measure{name: "holder crashes: next grant after TTL, p99", unit: "ms", goal: "≤ 50"}
)

const (
	crashTTL = time.Second
	// crashEvery is between two crashes: no two waiters come at the same time.
	crashEvery = 37 * time.Millisecond
)

// crashes measures all libraries, each with several locks at the same time.
func (s *session) crashes(round int) error {
	for _, library := range peer.Locks {
		delays, err := s.crash(library, round)
		if err != nil {
			return fmt.Errorf("%s: crash: %w", library.Name, err)
		}
		for _, m := range []struct {
			measure measure
			q       float64
		}{{crashMedian, 0.5}, {crashLate, 0.99}} {
			s.table.add(m.measure, library.Name, micros(figure.Quantile(delays, m.q))/1000)
		}
	}
	return nil
}

// crash returns how long after the TTL each lock was granted again.
func (s *session) crash(library peer.Library, round int) ([]time.Duration, error) {
	clients, err := s.openAll([]peer.Library{library, library})
	if err != nil {
		return nil, err
	}
	defer closeAll(clients)
	delays := make([]time.Duration, s.scale.crashes)
	errs := make([]error, s.scale.crashes)
	var trials sync.WaitGroup
	for i := range delays {
		trials.Go(func() {
			time.Sleep(time.Duration(i) * crashEvery)
			delays[i], errs[i] = trial(clients[0], clients[1], fmt.Sprintf("crash-%d-%d", round, i))
		})
	}
	trials.Wait()
	return delays, errors.Join(errs...)
}

// trial counts the TTL from before the request that the lock was granted to.
func trial(holder, next peer.Client, name string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	if err := holder.Abandon(ctx, name, crashTTL); err != nil {
		return 0, err
	}
	release, err := next.Acquire(ctx, name)
	if err != nil {
		return 0, err
	}
	late := time.Since(began) - crashTTL
	return late, release()
}
