package redislock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// One who may not have a lock keeps nobody else from having one.
func TestGatheredWithSomebodyRefused(t *testing.T) {
	r := newRace(t)
	r.server.Do("ACL", "SETUSER", "app", "on", ">secret", "resetkeys",
		"~lock:own*", "~lock:busy*", "~lock:fh!*", "&*", "+@all")
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{r.server.Addr()}, ForceSingleClient: true, DisableRetry: true, DisableCache: true,
		Username: "app", Password: "secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	g := r.gathers(redislock.ConnOf(client))
	g.occupy()
	out := g.together(append(names(6), "forbidden")...)
	g.gathered(7)
	mustBe(t, out.errs[6], fencehold.ErrUnavailable)
	if err := out.errs[6]; !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("error %q does not say why", err)
	}
	out.errs = out.errs[:6]
	g.releaseAll(g.granted(out))
	g.freed()
}

// The server forgets its scripts at any moment.
func TestGatheredWithoutScripts(t *testing.T) {
	g := newGathering(t)
	g.occupy()
	for range 5 {
		g.server.Do("SCRIPT", "FLUSH")
		leases := g.granted(g.together(names(5)...))
		g.server.Do("SCRIPT", "FLUSH")
		g.releaseAll(leases)
	}
	g.freed()
}

// Close ends what was gathered, and what is under way with others, at once.
func TestGatheredMeetsClose(t *testing.T) {
	for name, pause := range map[string]time.Duration{"gathered": 0, "under way": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			for range 10 {
				closeMeets(r.gathers(r.plug(r.server.Addr())), pause)
			}
		})
	}
}

func closeMeets(g *gathering, pause time.Duration) {
	g.Helper()
	g.occupy()
	silent := passage(func(ctx context.Context, _ redislock.Call, _ func() (string, error)) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	g.gate.many.Store(&silent)
	done := make(chan error, 20)
	var asking sync.WaitGroup
	for i := range cap(done) {
		asking.Add(1)
		go func() {
			asking.Done()
			if i%2 == 0 {
				_, err := g.backend.TryAcquire(g.Context(), request(driver.NewHolder()))
				done <- err
				return
			}
			done <- g.backend.Release(g.Context(), grantFor(driver.NewHolder()), 0)
		}()
	}
	asking.Wait()
	time.Sleep(pause)
	closing := time.Now()
	if err := g.backend.Close(); err != nil {
		g.Error(err)
	}
	within(g, "Close", time.Since(closing), time.Second)
	for range cap(done) {
		select {
		case err := <-done:
			// One that comes just then is made alone, and may be in time.
			late := err == nil || errors.Is(err, fencehold.ErrLost) || strings.Contains(err.Error(), "clos")
			if !late && !errors.Is(err, fencehold.ErrClosed) {
				g.Errorf("error %v, want ErrClosed", err)
			}
		case <-time.After(hang):
			g.Fatal("an order is never answered")
		}
	}
}

// Callers who give up at any moment are left with no lock. Connections of a pool
// overtake each other, so that a late attempt can take a lock for a TTL: there
// nobody gives up.
func TestGatheredByManyCallers(t *testing.T) {
	for name, row := range map[string]struct {
		multiplex int
		patience  func() time.Duration
	}{
		"one connection":      {-1, func() time.Duration { return rand.N(4 * time.Millisecond) }},
		"several connections": {3, func() time.Duration { return long }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			client, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{r.server.Addr()}, ForceSingleClient: true, DisableRetry: true, DisableCache: true,
				AlwaysPipelining: true, PipelineMultiplex: row.multiplex,
			})
			if err != nil {
				t.Fatal(err)
			}
			g := r.gathers(redislock.ConnOf(client))
			var all sync.WaitGroup
			for _, name := range names(64) {
				all.Go(func() {
					for range 20 {
						g.cycle(name, row.patience())
					}
				})
			}
			all.Wait()
			g.gathered(100)
			g.freed()
		})
	}
}

// cycle acquires a lock within some time, and releases it.
func (g *gathering) cycle(name string, patience time.Duration) {
	ctx, cancel := context.WithTimeout(g.Context(), patience)
	defer cancel()
	lease, err := g.client.Mutex(name).Acquire(ctx)
	switch {
	case err == nil:
		err = lease.Release(g.Context())
	case errors.Is(err, context.DeadlineExceeded):
		return
	}
	if err != nil {
		g.Error(err)
	}
}

// Orders that are under way when the primary goes are all answered.
func TestGatheredMeetsFailover(t *testing.T) {
	t.Parallel()
	set := testcluster.StartSentinel(t, 2, 3)
	client := openClient(t, set.URL(), fencehold.WithTTL(3*time.Second)) // so long may a lock stand whose release is lost
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, name := range names(32) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if lease, err := client.Mutex(name).Acquire(bounded(t)); err == nil {
					_ = lease.Release(context.Background()) // may be lost with the primary
				}
			}
		})
	}
	set.Failover()
	close(stop)
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	closes(t, "all have their answers", ended, limit)
	for _, name := range names(4) {
		release(t, acquire(t, client, name))
	}
}
