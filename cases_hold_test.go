package fencehold_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/memlock"
)

func mustBeHeldBy(t *testing.T, c *fencehold.Client, lease *fencehold.Lease) fencehold.Holding {
	t.Helper()
	h, err := c.Inspect(t.Context(), lease.Name())
	if err != nil || !h.Held || h.Holder != lease.Fence().Holder || h.Token != lease.Token() {
		t.Fatalf("inspect shows %+v, %v, want %v", h, err, lease.Fence())
	}
	return h
}

// The link is cut after a renewal, and heals when somebody else has the lock.
func TestB01AfterTheLinkHeals(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		a, b := newClient(t, server, fencehold.WithTTL(time.Second)), newClient(t, server)
		lease := acquire(t, a, "job")
		var cut atomic.Bool
		var renewed atomic.Pointer[time.Time] // start of the last renewal that succeeded
		var renewals, releases atomic.Int32
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Holder != lease.Fence().Holder {
				return memlock.Fault{}
			}
			switch c.Op {
			case "renew":
				renewals.Add(1)
				if now := time.Now(); !cut.Load() {
					renewed.Store(&now)
				}
			case "release":
				releases.Add(1)
			}
			return memlock.Fault{DropRequest: cut.Load()}
		})
		time.Sleep(5 * time.Second)
		cut.Store(true)
		granted := make(chan time.Time, 1)
		var next *fencehold.Lease
		go func() {
			next = acquire(t, b, "job", fencehold.WithMaxWait(3*time.Second))
			granted <- time.Now()
		}()
		<-lease.Done()
		lost := time.Now()
		if d := lost.Sub(*renewed.Load()); d >= time.Second || lease.Valid() {
			t.Errorf("told %v after the last renewal; valid is %v", d, lease.Valid())
		}
		had := <-granted
		if d := had.Sub(*renewed.Load()); d < time.Second || d > 1500*time.Millisecond || !had.After(lost) {
			t.Errorf("granted %v after the last renewal, %v after the signal", d, had.Sub(lost))
		}
		cut.Store(false)
		renewals.Store(0)
		start := time.Now()
		if err := lease.Release(t.Context()); !errors.Is(err, fencehold.ErrLost) || time.Since(start) > 200*time.Millisecond {
			t.Errorf("release: %v after %v", err, time.Since(start))
		}
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			if lease.Valid() {
				t.Fatal("valid again")
			}
		}
		mustBeHeldBy(t, b, next)
		if renewals.Load() != 0 || releases.Load() > 1 {
			t.Errorf("after healing the loser sent %d renewals and %d releases", renewals.Load(), releases.Load())
		}
	})
}

// A renewal that comes too late brings nothing back and uses up no token.
func TestB02LateRenewalLeavesNothing(t *testing.T) {
	for name, meanwhile := range map[string]func(*testing.T, *memlock.Server){
		"expired": func(*testing.T, *memlock.Server) { time.Sleep(500 * time.Millisecond) },
		"used by another": func(t *testing.T, server *memlock.Server) {
			time.Sleep(350 * time.Millisecond)
			_ = acquire(t, newClient(t, server), "job").Release(t.Context())
			time.Sleep(150 * time.Millisecond)
		},
		"deleted": func(_ *testing.T, server *memlock.Server) {
			time.Sleep(100 * time.Millisecond)
			server.Delete("job")
			time.Sleep(50 * time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				b := server.Backend()
				req := driver.Request{Name: "job", Holder: driver.NewHolder(), TTL: 300 * time.Millisecond}
				grant, err := b.TryAcquire(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				meanwhile(t, server)
				if _, err := b.Renew(t.Context(), grant, time.Second); !errors.Is(err, fencehold.ErrLost) {
					t.Errorf("renewal: %v", err)
				}
				client := newClient(t, server)
				if h, err := client.Inspect(t.Context(), "job"); err != nil || h.Held {
					t.Errorf("after the renewal: %+v, %v", h, err)
				}
				// Tokens are microseconds: one that was used up just now would show.
				if token := acquire(t, client, "job").Token(); int64(token) != time.Now().UnixMicro() {
					t.Errorf("the renewal used up a token: next is %v, want %d", token, time.Now().UnixMicro())
				}
			})
		})
	}
}

func TestB03WhatTheServiceHasMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client, other := newClient(t, server, fencehold.WithTTL(3*time.Second)), newClient(t, server)
		start := time.Now()
		lease := acquire(t, client, "job")
		var renewals atomic.Int32
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" && c.Holder == lease.Fence().Holder && renewals.Add(1) == 1 {
				return memlock.Fault{Err: errNetwork}
			}
			return memlock.Fault{}
		})
		for time.Since(start) < 8*time.Second { // run 1
			time.Sleep(100 * time.Millisecond)
			mustBeHeldBy(t, other, lease)
			if lease.Err() != nil {
				t.Fatal(lease.Err())
			}
		}
		// Run 3: the owner is replaced.
		server.Expire("job")
		next := acquire(t, other, "job")
		before := renewals.Load()
		<-lease.Done()
		time.Sleep(5 * time.Second)
		if n := renewals.Load() - before; n != 1 {
			t.Errorf("%d renewals after another took over, want 1", n)
		}
		mustBeHeldBy(t, other, next)
	})
	bubble(t, func(t *testing.T, server *memlock.Server) { // run 2
		start := time.Now()
		lease := acquire(t, newClient(t, server, fencehold.WithTTL(3*time.Second)), "job")
		server.Script(on("renew", memlock.Fault{Err: errNetwork}))
		<-lease.Done()
		if d := time.Since(start); d >= 3*time.Second {
			t.Errorf("told after %v of 3s", d)
		}
	})
}

func TestB08LateRelease(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		a := acquire(t, newClient(t, server), "job", fencehold.WithTTL(200*time.Millisecond), fencehold.WithoutRenewal())
		time.Sleep(400 * time.Millisecond)
		client := newClient(t, server, fencehold.WithoutRenewal())
		b := acquire(t, client, "job", fencehold.WithTTL(10*time.Second))
		time.Sleep(50 * time.Millisecond)
		if err := a.Release(t.Context()); !errors.Is(err, fencehold.ErrLost) {
			t.Errorf("late release: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
		if _, err := newClient(t, server).Mutex("job").TryAcquire(t.Context()); !errors.Is(err, fencehold.ErrHeld) {
			t.Errorf("third: %v", err)
		}
		if h := mustBeHeldBy(t, client, b); h.TTL != 9900*time.Millisecond {
			t.Errorf("%v left, want 9.9s", h.TTL)
		}
	})
}

// Release after a loss makes one request at most, at once.
func TestB09ReleaseAfterLossIsOneRequest(t *testing.T) {
	for _, taken := range []bool{false, true} {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			lease := acquire(t, newClient(t, server), "job", fencehold.WithTTL(200*time.Millisecond), fencehold.WithoutRenewal())
			time.Sleep(400 * time.Millisecond)
			want := fencehold.ReasonExpired
			if taken {
				acquire(t, newClient(t, server), "job")
				want = fencehold.ReasonTakenOver
			}
			var calls atomic.Int32
			server.Script(func(c memlock.Call) memlock.Fault {
				if c.Holder == lease.Fence().Holder {
					calls.Add(1)
				}
				return memlock.Fault{}
			})
			start := time.Now()
			mustBeLost(t, lease.Release(t.Context()), want)
			time.Sleep(10 * time.Second)
			if d := time.Since(start) - 10*time.Second; d > 100*time.Millisecond || calls.Load() > 1 {
				t.Errorf("taken %v: release took %v and %d requests", taken, d, calls.Load())
			}
		})
	}
}

// An old lease of the same client and name sends nothing and changes nothing.
func TestB10OldLeaseChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
		old := acquire(t, client, "job")
		_ = old.Release(t.Context())
		lease := acquire(t, client, "job")
		time.Sleep(time.Second)
		if err := old.Extend(t.Context(), time.Minute); !errors.Is(err, fencehold.ErrReleased) {
			t.Errorf("extend: %v", err)
		}
		if err := old.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
		if h := mustBeHeldBy(t, client, lease); h.TTL != time.Second {
			t.Errorf("%v left, want 1s", h.TTL)
		}
		end := lease.Expires()
		if err := lease.Extend(t.Context(), 5*time.Second); err != nil {
			t.Fatal(err)
		}
		if left := time.Until(lease.Expires()); left < 4800*time.Millisecond || left > 5*time.Second || !lease.Expires().After(end) {
			t.Errorf("%v left after an extension to 5s", left)
		}
	})
}

// onItsWay executes renewals a while after they were sent, whatever became of
// the caller: a request on its way cannot be called back.
type onItsWay struct {
	plain
	delay func() time.Duration
	sent  *atomic.Int32
	all   *sync.WaitGroup
}

func (o onItsWay) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	type answer struct {
		grant driver.Grant
		err   error
	}
	o.sent.Add(1)
	got := make(chan answer, 1)
	o.all.Go(func() {
		time.Sleep(o.delay())
		g, err := o.Backend.Renew(context.WithoutCancel(ctx), grant, ttl)
		got <- answer{g, err}
	})
	select {
	case a := <-got:
		return a.grant, a.err
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
}

// The renewal reaches the service after the release, and cannot be called back.
func TestB12RenewalArrivesAfterRelease(t *testing.T) {
	for range 200 {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			var sent, told atomic.Int32
			var all sync.WaitGroup
			defer all.Wait()
			delay := 100*time.Millisecond + rand.N(50*time.Millisecond)
			a, err := fencehold.New(onItsWay{plain{server.Backend()}, func() time.Duration { return delay }, &sent, &all},
				fencehold.WithTTL(time.Second),
				fencehold.WithHooks(fencehold.Hooks{Lost: func(fencehold.Event) { told.Add(1) }}))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			b := newClient(t, server, fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
			lease := acquire(t, a, "job")
			for sent.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			absent := rand.N(2) == 0
			if absent {
				for range 30 {
					time.Sleep(100 * time.Millisecond)
					if h, _ := b.Inspect(t.Context(), "job"); h.Held {
						t.Fatal("a late renewal brought the lock back")
					}
				}
			} else {
				start := time.Now()
				next := acquire(t, b, "job")
				for range 38 {
					if h := mustBeHeldBy(t, b, next); h.TTL != 2*time.Second-time.Since(start) {
						t.Fatalf("%v left after %v of 2s", h.TTL, time.Since(start))
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			if !errors.Is(lease.Err(), fencehold.ErrReleased) || told.Load() > 0 {
				t.Errorf("ended with %v, %d losses told", lease.Err(), told.Load())
			}
		})
	}
}

// The service is silent for 2s, or A's link is cut for that time.
func TestB13NextHolderAfterTheOutage(t *testing.T) {
	for _, all := range []bool{true, false} {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			a, b := newClient(t, server, fencehold.WithTTL(time.Second)), newClient(t, server)
			lease := acquire(t, a, "job")
			outage := time.Now().Add(2 * time.Second)
			var renewals atomic.Int32
			server.Script(func(c memlock.Call) memlock.Fault {
				mine := c.Holder == lease.Fence().Holder
				switch {
				case c.Op == "renew" && mine:
					renewals.Add(1)
				case all:
					return memlock.Fault{Delay: time.Until(outage)}
				}
				return memlock.Fault{DropRequest: mine && time.Now().Before(outage)}
			})
			granted := make(chan time.Time, 1)
			go func() {
				next := acquire(t, b, "job", fencehold.WithMaxWait(10*time.Second))
				granted <- time.Now()
				_ = next.Release(context.Background())
			}()
			start := time.Now()
			err := lease.Release(t.Context())
			if d := time.Since(start); d > 4*time.Second || err != nil && !errors.Is(err, fencehold.ErrUnavailable) && !errors.Is(err, fencehold.ErrLost) {
				t.Errorf("release: %v after %v", err, d)
			}
			if d := (<-granted).Sub(outage); d > 1500*time.Millisecond {
				t.Errorf("granted %v after the outage", d)
			}
			time.Sleep(10 * time.Second)
			if n := renewals.Load(); n != 0 {
				t.Errorf("%d renewals after the release", n)
			}
		})
	}
}

// Release under a dead context, on a service that does not answer.
// What is unknown is undone within a second of the service's return, however
// long it was away.
// B gives up in front of C: its place is gone at once.
// The request is late, so that the grant would stand when its answer is too
// old: it is given back, and the reason told.
// The clock is stepped while somebody waits: the wait takes as long as it would.
// The way into the line is slow, and the lock is released meanwhile.
// What 100 waiters in line send in the 100ms after a release.
// Locks that were lost leave nothing behind, whatever took them away.
// The work goes on after the loss, and knows nothing of it.
func TestB09ReleaseOfNothing(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		holder := acquire(t, newClient(t, server), "job")
		_ = holder
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("panic: %v", r)
			}
		}()
		lease, _ := newClient(t, server).Mutex("job").TryAcquire(t.Context())
		_ = lease.Release(t.Context())
	})
}
