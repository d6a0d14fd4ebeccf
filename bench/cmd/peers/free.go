package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold/bench/internal/figure"
	"github.com/fencehold/fencehold/bench/internal/peer"
)

// Free locks. The sizes are those of the goals.
var (
	freeCycle = measure{
		name: "free lock, one goroutine: cycle p50", unit: "µs", base: peer.SharedRaw.Name, goal: "ratio ≤ 1.25",
	}
	busyRate = measure{
		name: "many goroutines, each its own lock", unit: "cycles/s", base: peer.SharedRaw.Name, goal: "ratio ≥ 0.50",
	}
)

const (
	chunk = 200             // cycles of one library before the next one's turn
	limit = 2 * time.Minute // for any single measurement
)

// contestants are libraries and, in the same order, a client of each.
type contestants struct {
	libraries []peer.Library
	clients   []peer.Client
}

// everybody opens a client of all libraries, and raw requests on that of
// fencehold.
func (s *session) everybody() (contestants, error) {
	all := append([]peer.Library{peer.Fencehold, peer.Raw}, peer.Locks[1:]...)
	clients, err := s.openAll(all)
	if err != nil {
		return contestants{}, err
	}
	shared := peer.RawOn(clients[0])
	return contestants{
		append([]peer.Library{peer.SharedRaw}, all...), append([]peer.Client{shared}, clients...),
	}, nil
}

// openAll opens a client of each library.
func (s *session) openAll(libraries []peer.Library) ([]peer.Client, error) {
	var addrs []string
	for _, server := range s.servers {
		addrs = append(addrs, server.Addr())
	}
	var clients []peer.Client
	for _, library := range libraries {
		client, err := library.Open(addrs...)
		if err != nil {
			closeAll(clients)
			return nil, fmt.Errorf("%s: %w", library.Name, err)
		}
		clients = append(clients, client)
	}
	return clients, nil
}

func closeAll(clients []peer.Client) {
	for _, client := range clients {
		client.Close()
	}
}

// free measures cycles of acquire and release that nobody contends for.
func (s *session) free(int) error {
	c, err := s.everybody()
	if err != nil {
		return err
	}
	defer closeAll(c.clients)
	return s.compareCycles(c, freeCycle)
}

// compareCycles lets all take turns.
func (s *session) compareCycles(c contestants, m measure) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	times := make([][]time.Duration, len(c.libraries))
	for range s.scale.chunks {
		for i, client := range c.clients {
			var err error
			if times[i], err = cycles(ctx, client, times[i]); err != nil {
				return fmt.Errorf("%s: %w", c.libraries[i].Name, err)
			}
		}
	}
	for i, library := range c.libraries {
		s.table.add(m, library.Name, micros(figure.Quantile(times[i], 0.5)))
	}
	return nil
}

// cycles appends the times of one chunk of cycles.
func cycles(ctx context.Context, client peer.Client, times []time.Duration) ([]time.Duration, error) {
	for range chunk {
		began := time.Now()
		release, err := client.Acquire(ctx, "free")
		if err == nil {
			err = release()
		}
		if err != nil {
			return times, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// busy measures how many cycles many goroutines of one client make.
func (s *session) busy(int) error {
	c, err := s.everybody()
	if err != nil {
		return err
	}
	defer closeAll(c.clients)
	for i, client := range c.clients {
		rate, err := s.rate(client)
		if err != nil {
			return fmt.Errorf("%s: %w", c.libraries[i].Name, err)
		}
		s.table.add(busyRate, c.libraries[i].Name, rate)
	}
	return nil
}

// rate returns cycles per second, after a tenth of the time to get going.
func (s *session) rate(client peer.Client) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var made atomic.Int64
	var failure atomic.Pointer[error]
	var over atomic.Bool
	var running sync.WaitGroup
	for i := range s.scale.goroutines {
		name := fmt.Sprintf("own-%d", i)
		running.Go(func() {
			for !over.Load() {
				release, err := client.Acquire(ctx, name)
				if err == nil {
					err = release()
				}
				if err != nil {
					failure.Store(&err)
					return
				}
				made.Add(1)
			}
		})
	}
	time.Sleep(s.scale.busy / 10)
	before, began := made.Load(), time.Now()
	time.Sleep(s.scale.busy)
	rate := float64(made.Load()-before) / time.Since(began).Seconds()
	over.Store(true)
	running.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return rate, nil
}
