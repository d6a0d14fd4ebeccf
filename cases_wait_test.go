package fencehold_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/clocktest"
	"github.com/fencehold/fencehold/memlock"
)

func TestB15NoRenewalForACancelledCall(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		var renewals atomic.Int32
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" {
				renewals.Add(1)
			}
			return on("acquire", memlock.Fault{ReplyDelay: 500 * time.Millisecond})(c)
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		_, err := client.Mutex("job").Acquire(ctx)
		if !errors.Is(err, context.Canceled) || time.Since(start) > 150*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(10 * time.Second)
		if h, _ := client.Inspect(t.Context(), "job"); h.Held || renewals.Load() != 0 {
			t.Errorf("%d renewals for a call that failed; held: %v", renewals.Load(), h.Held)
		}
	})
}

func TestB16ReleaseUnderDeadContextDuringAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		lease, err := client.Mutex("job").Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		var renewals atomic.Int32
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" {
				renewals.Add(1)
			}
			return memlock.Fault{DropRequest: true}
		})
		start := time.Now()
		err = lease.Release(ctx)
		if d := time.Since(start); !errors.Is(err, fencehold.ErrUnavailable) || d > 4*time.Second {
			t.Errorf("release: %v after %v", err, d)
		}
		time.Sleep(10 * time.Second)
		if n := renewals.Load(); n != 0 {
			t.Errorf("%d renewals after the release", n)
		}
	})
}

func TestB19QuitterInFrontOfAWaiter(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			start := time.Now()
			viewer := newClient(t, server)
			a := acquire(t, newClient(t, server), "job")
			b, c := newClient(t, server), newClient(t, server)
			quit, served := make(chan time.Duration, 1), make(chan time.Time, 1)
			go func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				m, want := b.Mutex("job", fencehold.WithMaxWait(300*time.Millisecond)), fencehold.ErrHeld
				if cancelled {
					m, want = b.Mutex("job"), context.Canceled
					time.AfterFunc(300*time.Millisecond, cancel)
				}
				if _, err := m.Acquire(ctx); !errors.Is(err, want) {
					t.Errorf("gave up with %v", err)
				}
				quit <- time.Since(start)
			}()
			time.Sleep(100 * time.Millisecond)
			go func() {
				lease := acquire(t, c, "job", fencehold.WithMaxWait(10*time.Second))
				served <- time.Now()
				_ = lease.Release(context.Background())
			}()
			if d := <-quit; d > 500*time.Millisecond {
				t.Errorf("gave up after %v", d)
			}
			time.Sleep(600*time.Millisecond - time.Since(start))
			if h := mustBeHeldBy(t, viewer, a); h.Waiting != 1 || len(h.Waiters) != 1 {
				t.Errorf("%d wait at 600ms, want 1", h.Waiting)
			}
			time.Sleep(time.Second - time.Since(start))
			released := time.Now()
			_ = a.Release(t.Context())
			if d := (<-served).Sub(released); d > 500*time.Millisecond {
				t.Errorf("handed over in %v", d)
			}
			synctest.Wait()
			if h, _ := viewer.Inspect(t.Context(), "job"); h.Held || h.Waiting != 0 {
				t.Errorf("left behind: %+v", h)
			}
		})
	}
}

func TestB24WhatTheServiceKeeps(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithoutRenewal())
		for _, ttl := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond} {
			lease := acquire(t, client, "job", fencehold.WithTTL(ttl))
			if h := mustBeHeldBy(t, client, lease); h.TTL != ttl || lease.TTL() != ttl {
				t.Errorf("TTL %v: the service has %v, the lease %v", ttl, h.TTL, lease.TTL())
			}
			time.Sleep(ttl / 2)
			if err := lease.Extend(t.Context(), ttl); err != nil {
				t.Fatal(err)
			}
			if h := mustBeHeldBy(t, client, lease); h.TTL != ttl {
				t.Errorf("extended to %v: the service has %v", ttl, h.TTL)
			}
			_ = lease.Release(t.Context())
		}
	})
}

func TestB27LateGrantIsGivenBack(t *testing.T) {
	for _, op := range []string{"try", "acquire"} {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			client := newClient(t, server, fencehold.WithTTL(200*time.Millisecond))
			server.Script(on(op, memlock.Fault{Delay: 300 * time.Millisecond}))
			m := client.Mutex("job")
			ask := map[string]func(context.Context) (*fencehold.Lease, error){"try": m.TryAcquire, "acquire": m.Acquire}[op]
			_, err := ask(t.Context())
			if !errors.Is(err, fencehold.ErrUnavailable) || !strings.Contains(err.Error(), "ran out while it was being acquired") {
				t.Errorf("error %v", err)
			}
			synctest.Wait()
			if h, _ := client.Inspect(t.Context(), "job"); h.Held {
				t.Errorf("left behind for %v", h.TTL)
			}
		})
	}
}

func TestB27SlowRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second), fencehold.WithoutRenewal())
		start := time.Now()
		lease := acquire(t, client, "job")
		time.Sleep(500 * time.Millisecond)
		server.Script(on("renew", memlock.Fault{Delay: 1200 * time.Millisecond}))
		err := lease.Extend(t.Context(), time.Second)
		if d := time.Since(start); !errors.Is(err, fencehold.ErrLost) || d > time.Second {
			t.Errorf("%v after %v", err, d)
		}
	})
}

func TestB27FreshAfterALongWait(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		a := acquire(t, newClient(t, server), "job")
		time.AfterFunc(2*time.Second, func() { _ = a.Release(context.Background()) })
		b := acquire(t, newClient(t, server, fencehold.WithTTL(time.Second), fencehold.WithoutRenewal()), "job")
		if left := time.Until(b.Expires()); left < 800*time.Millisecond {
			t.Errorf("%v left of 1s", left)
		}
		time.Sleep(500 * time.Millisecond)
		if err := b.Extend(t.Context(), time.Second); err != nil || !b.Valid() {
			t.Errorf("renewal half a second later: %v", err)
		}
	})
}

func TestB32WaitThroughAStep(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			lease := acquire(t, distantClient(t, server, fencehold.WithTTL(3*time.Second)), "job")
			waiter := distantClient(t, server, fencehold.WithMaxWait(2*time.Second))
			start := time.Now()
			time.AfterFunc(500*time.Millisecond, func() { clocktest.StepWall(t, step) })
			_, err := waiter.Mutex("job").Acquire(t.Context())
			if d := time.Since(start); !errors.Is(err, fencehold.ErrHeld) || d != 2*time.Second {
				t.Errorf("step of %v: wait of 2s ended after %v with %v", step, d, err)
			}
			time.Sleep(10 * time.Second)
			mustBeHeldBy(t, waiter, lease)
			if !lease.Valid() {
				t.Errorf("step of %v: lost: %v", step, lease.Err())
			}
		})
	}
}

func TestB37ReleaseWhileJoining(t *testing.T) {
	for name, wrap := range map[string]func(driver.Backend) driver.Backend{
		"queue": func(b driver.Backend) driver.Backend { return b },
		"poll":  func(b driver.Backend) driver.Backend { return plain{b} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				holder := newClient(t, server)
				waiter, err := fencehold.New(wrap(server.Backend()))
				if err != nil {
					t.Fatal(err)
				}
				defer waiter.Close()
				lease := acquire(t, holder, "job")
				server.Script(on("acquire", memlock.Fault{Delay: 300 * time.Millisecond}))
				start := time.Now()
				time.AfterFunc(100*time.Millisecond, func() { _ = lease.Release(context.Background()) })
				_ = acquire(t, waiter, "job").Release(t.Context())
				if d := time.Since(start); d > 600*time.Millisecond {
					t.Errorf("had the lock %v after the release", d-100*time.Millisecond)
				}
				server.Script(nil)
				slow := 0
				for range 500 {
					lease := acquire(t, holder, "job")
					hold := rand.N(3 * time.Millisecond)
					start := time.Now()
					time.AfterFunc(hold, func() { _ = lease.Release(context.Background()) })
					_ = acquire(t, waiter, "job").Release(t.Context())
					d := time.Since(start) - hold
					if d > 100*time.Millisecond {
						slow++
					}
					if d > time.Second {
						t.Errorf("hand-over in %v", d)
					}
				}
				if slow > 5 {
					t.Errorf("%d of 500 hand-overs took more than 100ms", slow)
				}
			})
		})
	}
}

func TestB41GreedyAndInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		first := acquire(t, newClient(t, server), "job")
		var turns []int // -1 is the greedy one
		turn := func(c *fencehold.Client, who int) {
			err := c.Mutex("job").Do(context.Background(), func(context.Context) error {
				turns = append(turns, who)
				time.Sleep(time.Millisecond)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		var others, all sync.WaitGroup
		var stop atomic.Bool
		greedy := newClient(t, server)
		for i := range 20 {
			if i == 10 {
				all.Go(func() {
					for !stop.Load() {
						turn(greedy, -1)
					}
				})
				synctest.Wait()
			}
			c := newClient(t, server)
			others.Go(func() { turn(c, i) })
			synctest.Wait()
		}
		start := time.Now()
		_ = first.Release(t.Context())
		others.Wait()
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("20 turns took %v", d)
		}
		stop.Store(true)
		all.Wait()
		next, last := 0, 0
		for _, who := range turns {
			switch {
			case who == -1 && last == -1 && next < 20:
				t.Errorf("two greedy turns in a row: %v", turns)
			case who >= 0 && who != next:
				t.Fatalf("served %v", turns)
			case who >= 0:
				next++
			}
			last = who
		}
	})
}

func TestB41Herd(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		holder := acquire(t, newClient(t, server), "job")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 100 {
			client := newClient(t, server)
			all.Go(func() { _, _ = client.Mutex("job").Acquire(ctx) })
		}
		time.Sleep(time.Second)
		var calls atomic.Int32
		server.Script(func(memlock.Call) memlock.Fault { calls.Add(1); return memlock.Fault{} })
		_ = holder.Release(t.Context())
		time.Sleep(100 * time.Millisecond)
		if n := calls.Load(); n > 10 {
			t.Errorf("%d requests in 100ms, want at most 10", n)
		}
		cancel()
		all.Wait()
	})
}

func TestB88CallsAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		lease := acquire(t, client, "job")
		_ = client.Close()
		_, inspect := client.Inspect(t.Context(), "job")
		_, resume := client.Resume(t.Context(), lease.Fence())
		var list error
		for _, err := range client.Locks(t.Context(), "") {
			list = err
		}
		for what, err := range map[string]error{
			"inspect": inspect, "resume": resume, "list": list,
			"unlock": client.Unlock(t.Context(), "job", "holder", ""),
			"do":     client.Mutex("job").Do(t.Context(), func(context.Context) error { return errNetwork }),
		} {
			if !errors.Is(err, fencehold.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		mustBeLost(t, lease.Extend(t.Context(), time.Second), fencehold.ReasonClosed)
		mustBeLost(t, lease.Release(t.Context()), fencehold.ReasonClosed)
		if lease.Valid() {
			t.Error("valid after close")
		}
	})
}

func TestB88LossesLeaveNothing(t *testing.T) {
	server := memlock.New()
	client := newClient(t, server)
	operator := newClient(t, server)
	lose := func(n int) {
		for range n {
			lease := acquire(t, client, "job")
			_ = lease.Context(t.Context())
			if err := operator.Unlock(t.Context(), "job", lease.Fence().Holder, ""); err != nil {
				t.Fatal(err)
			}
			if err := lease.Extend(t.Context(), time.Second); !errors.Is(err, fencehold.ErrLost) {
				t.Fatal(err)
			}
		}
	}
	lose(1100) // the server remembers so many
	before := heapInUse()
	lose(1000)
	if grown := heapInUse() - before; grown > 256<<10 {
		t.Errorf("1,000 losses left %d bytes", grown)
	}
}

func TestB23ReleaseErrorIsJoined(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		errWork := errors.New("work failed")
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		err := client.Mutex("job").Do(t.Context(), func(context.Context) error {
			server.Script(on("release", memlock.Fault{Err: errNetwork}))
			return errWork
		})
		if !errors.Is(err, errWork) || !errors.Is(err, fencehold.ErrUnavailable) || !errors.Is(err, errNetwork) {
			t.Errorf("error %v: want that of the work and that of the release", err)
		}
	})
}

func TestB23WorkThatDoesNotLook(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(200*time.Millisecond), fencehold.WithoutRenewal())
		value := 0
		err := client.Mutex("job").Do(t.Context(), func(ctx context.Context) error {
			time.Sleep(400 * time.Millisecond)
			if ctx.Err() == nil {
				t.Error("the context of the work is alive after the lease")
			}
			value = 42
			return nil
		})
		mustBeLost(t, err, fencehold.ReasonExpired)
		if value != 42 {
			t.Errorf("value %d", value)
		}
	})
}

func TestB17UndoneSoonAfterALongOutage(t *testing.T) {
	for _, outage := range []time.Duration{300 * time.Millisecond, 1300 * time.Millisecond, 2600 * time.Millisecond, 5 * time.Second} {
		t.Run(outage.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				client := newClient(t, server, fencehold.WithTTL(10*time.Second))
				server.Script(func(c memlock.Call) memlock.Fault {
					return memlock.Fault{DropReply: c.Op == "try", Err: errNetwork}
				})
				if _, err := client.Mutex("job").TryAcquire(t.Context()); !errors.Is(err, fencehold.ErrUnavailable) {
					t.Fatal(err)
				}
				time.Sleep(outage)
				server.Script(nil)
				start := time.Now()
				acquire(t, newClient(t, server), "job")
				if d := time.Since(start); d > time.Second {
					t.Errorf("free %v after the service was back", d)
				}
			})
		})
	}
}

// Out of line everybody polls, at a pace that a service can bear.
func TestB41PollingIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server), "job")
		const waiters = 100
		var requests atomic.Int32
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "try" {
				requests.Add(1)
			}
			return memlock.Fault{}
		})
		client := newClientOn(t, plain{server.Backend()}, fencehold.WithBarging())
		ctx, cancel := context.WithCancel(t.Context())
		for range waiters {
			go func() { _, _ = client.Mutex("job").Acquire(ctx) }()
		}
		time.Sleep(time.Second)
		requests.Store(0)
		_ = lease.Release(t.Context())
		time.Sleep(100 * time.Millisecond)
		if n := requests.Load(); n > 3*waiters {
			t.Errorf("%d requests of %d waiters in 100ms", n, waiters)
		}
		cancel()
	})
}
