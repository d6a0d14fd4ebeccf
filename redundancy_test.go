package fencehold_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/memlock"
)

// several is a backend whose locks are on several servers, as the test says.
type several struct {
	driver.Backend
	told driver.Told

	mu    sync.Mutex
	spare map[string]int // by the lock's name
}

func newSeveral(server *memlock.Server) *several {
	return &several{Backend: server.Backend(), spare: map[string]int{}}
}

func (s *several) Watch(told driver.Told) { s.told = told }

func (s *several) Redundancy(grant driver.Grant) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spare, known := s.spare[grant.Name]
	return spare, known
}

// set changes the redundancy of a lease, as seen by its service.
func (s *several) set(f fencehold.Fence, spare int) {
	s.mu.Lock()
	s.spare[f.Name] = spare
	s.mu.Unlock()
	s.told.Redundancy(f.Name, f.Holder, spare)
}

func mustHaveSpare(t *testing.T, lease *fencehold.Lease, want int, wantKnown bool) {
	t.Helper()
	if spare, known := lease.Redundancy(); spare != want || known != wantKnown {
		t.Errorf("redundancy %d, known: %v; want %d, %v", spare, known, want, wantKnown)
	}
}

// The hook is called each time that the last redundancy goes, and for that
// lease alone.
func TestRedundancyLost(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		var story recorder
		var text bytes.Buffer
		backend := newSeveral(server)
		hooks := story.hooks()
		hooks.RedundancyLost = story.hook("bare")
		client := newClientOn(t, backend, fencehold.WithHooks(hooks),
			fencehold.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
		lease, other := acquire(t, client, "job"), acquire(t, client, "other")
		mustHaveSpare(t, lease, 0, false)
		for _, step := range []struct {
			spare int
			calls int
		}{{1, 0}, {0, 1}, {0, 1}, {-1, 1}, {0, 1}, {2, 1}, {-1, 2}, {1, 2}, {0, 3}} {
			backend.set(lease.Fence(), step.spare)
			mustHaveSpare(t, lease, step.spare, true)
			synctest.Wait()
			if got := strings.Count(strings.Join(story.events, " "), "bare"); got != step.calls {
				t.Errorf("redundancy %d: called %d times so far, want %d", step.spare, got, step.calls)
			}
		}
		if e := story.last["bare"]; e.Name != "job" || e.Token != lease.Token() || e.Remaining <= 0 {
			t.Errorf("told of %+v", e)
		}
		if !strings.Contains(text.String(), "level=WARN msg=\"lock has no server to spare\" lock=job") {
			t.Errorf("log:\n%s", text.String())
		}
		mustHaveSpare(t, other, 0, false)
	})
}

// placed is a service that says where its locks are.
type placed struct {
	*several
	without []string
}

func (p placed) Without(driver.Grant) ([]string, int) { return p.without, 3 }

// The hook and the log name the servers that do not have the lock.
func TestRedundancyLostNamesServers(t *testing.T) {
	for _, c := range []struct {
		without []string
		want    string
	}{
		{[]string{"b:1"}, "on 2 of 3 servers (not on b:1), none to spare"},
		{[]string{"b:1", "c:2"}, "on 1 of 3 servers (not on b:1, c:2), fewer than it takes"},
	} {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			told := make(chan fencehold.Event, 1)
			backend := placed{newSeveral(server), c.without}
			lease := acquire(t, newClientOn(t, backend, fencehold.WithHooks(fencehold.Hooks{
				RedundancyLost: func(e fencehold.Event) { told <- e },
			})), "job")
			backend.set(lease.Fence(), 1-len(c.without))
			if e := <-told; e.Err == nil || e.Err.Error() != c.want {
				t.Errorf("told %v, want %q", e.Err, c.want)
			}
		})
	}
}

// What the service knew before the lease was there is told after the grant.
func TestRedundancyKnownAtTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		var story recorder
		backend := newSeveral(server)
		backend.spare["job"] = 0
		hooks := story.hooks()
		hooks.RedundancyLost = story.hook("bare")
		lease := acquire(t, newClientOn(t, backend, fencehold.WithHooks(hooks)), "job")
		synctest.Wait()
		if got := strings.Join(story.events, " "); got != "acquired bare" {
			t.Errorf("told %q", got)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustHaveSpare(t, lease, 0, false)
		backend.set(lease.Fence(), 1)
		backend.set(lease.Fence(), 0)
		synctest.Wait()
		if got := strings.Join(story.events, " "); got != "acquired bare released" {
			t.Errorf("told %q", got)
		}
	})
}

// A service on one server has no redundancy to tell.
func TestRedundancyOfOneServer(t *testing.T) {
	mustHaveSpare(t, acquire(t, newClient(t, memlock.New()), "job"), 0, false)
}

// ceiling is a service that takes no TTL above a limit.
type ceiling struct {
	driver.Backend
	max time.Duration
}

func (c ceiling) Info() driver.Info {
	info := c.Backend.Info()
	info.MaxTTL = c.max
	return info
}

func TestTTLAboveTheCeiling(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		backend := ceiling{server.Backend(), 10 * time.Second}
		client := newClientOn(t, backend)
		lease := acquire(t, client, "job")
		if lease.TTL() != backend.max {
			t.Errorf("TTL %v by default, want the ceiling of %v", lease.TTL(), backend.max)
		}
		_, tooLong := client.Mutex("other", fencehold.WithTTL(backend.max+1)).TryAcquire(t.Context())
		_, atOpen := fencehold.New(backend, fencehold.WithTTL(time.Minute))
		for what, err := range map[string]error{
			"a lock": tooLong, "a client": atOpen, "an extension": lease.Extend(t.Context(), 11*time.Second),
		} {
			if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), "takes no more than 10s") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := lease.Extend(t.Context(), backend.max); err != nil {
			t.Error(err)
		}
	})
}
