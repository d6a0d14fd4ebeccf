package fencehold_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/clocktest"
	"github.com/fencehold/fencehold/memlock"
)

// distant makes the memory backend look like one on another machine, whose
// time goes on while this machine sleeps.
type distant struct{ driver.Backend }

func (d distant) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	sent := driver.Now()
	grant, err := d.Backend.TryAcquire(ctx, req)
	grant.Sent = sent
	return grant, err
}

func (d distant) Renew(ctx context.Context, grant driver.Grant, ttl time.Duration) (driver.Grant, error) {
	sent := driver.Now()
	grant, err := d.Backend.Renew(ctx, grant, ttl)
	grant.Sent = sent
	return grant, err
}

// Inspect passes on what the wrapper would hide.
func (d distant) Inspect(ctx context.Context, name string) (driver.Holding, error) {
	return d.Backend.(driver.Inspector).Inspect(ctx, name)
}

func (d distant) List(ctx context.Context, prefix string) iter.Seq2[driver.Holding, error] {
	return d.Backend.(driver.Inspector).List(ctx, prefix)
}

func distantClient(t *testing.T, server *memlock.Server, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	client, err := fencehold.New(distant{server.Backend()}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// The machine sleeps past the TTL. The first question after that is answered
// by the clocks, before any timer fires.
func TestSuspendedMachineHasLostTheLease(t *testing.T) {
	for name, ask := range map[string]func(*fencehold.Lease, context.Context) bool{
		"Valid":   func(l *fencehold.Lease, _ context.Context) bool { return l.Valid() },
		"Err":     func(l *fencehold.Lease, _ context.Context) bool { return l.Err() == nil },
		"Context": func(_ *fencehold.Lease, ctx context.Context) bool { return ctx.Err() == nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				lease := acquire(t, distantClient(t, server), "job")
				ctx := lease.Context(context.Background())
				if !ask(lease, ctx) {
					t.Fatal("lost before the machine slept")
				}
				clocktest.Suspend(t, time.Hour)
				if ask(lease, ctx) {
					t.Error("still held after the machine slept for an hour")
				}
				mustBeLost(t, context.Cause(ctx), fencehold.ReasonExpired)
			})
		})
	}
}

// Nobody asks: the clocks are looked at once a second.
func TestSuspendedMachineIsNoticed(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, distantClient(t, server), "job")
		clocktest.Suspend(t, time.Hour)
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d > time.Second {
			t.Errorf("noticed after %v", d)
		}
		mustBeLost(t, lease.Err(), fencehold.ReasonExpired)
	})
}

// A short sleep that leaves time: the lease ends so much earlier, or is renewed.
func TestShortSuspendCountsAgainstTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, distantClient(t, server, fencehold.WithoutRenewal()), "job")
		start := time.Now()
		before := lease.Expires()
		clocktest.Suspend(t, 10*time.Second)
		if moved := before.Sub(lease.Expires()); moved != 10*time.Second {
			t.Errorf("10s of sleep brought Expires forward by %v", moved)
		}
		<-lease.Done()
		if d := time.Since(start); d > 20*time.Second || d < 18*time.Second {
			t.Errorf("ended after %v awake, want just under 20s of the 30", d)
		}
	})
}

// The wall clock is set forward by an hour: the lease is in doubt until the
// service has confirmed it, and goes on without a gap.
func TestB32WallClockForward(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, distantClient(t, server, fencehold.WithTTL(3*time.Second)), "job")
		ctx := lease.Context(context.Background())
		clocktest.StepWall(t, time.Hour)
		if lease.Valid() {
			t.Error("Valid while the jump is not explained")
		}
		if ctx.Err() != nil {
			t.Errorf("a jump of the wall clock alone ended the lease: %v", context.Cause(ctx))
		}
		time.Sleep(10 * time.Millisecond)
		if !lease.Valid() {
			t.Errorf("not valid after the service confirmed it: %v", lease.Err())
		}
		time.Sleep(10 * time.Second)
		if ctx.Err() != nil || !lease.Valid() {
			t.Errorf("lost to a jump of the wall clock: %v", lease.Err())
		}
	})
}

// The same after a pause of the whole virtual machine: the service says no.
func TestWallClockForwardAfterARealPause(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, distantClient(t, server), "job")
		clocktest.StepWall(t, time.Hour)
		server.Advance(time.Hour)
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d > time.Second {
			t.Errorf("noticed after %v", d)
		}
		mustBeLost(t, lease.Err(), fencehold.ReasonExpired)
	})
}

// No answer explains the jump: the lease ends long before its time.
func TestWallClockForwardWithoutAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, distantClient(t, server), "job")
		server.Script(on("renew", memlock.Fault{DropRequest: true}))
		clocktest.StepWall(t, time.Hour)
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d > 7*time.Second {
			t.Errorf("ended after %v, want one attempt at most", d)
		}
		mustBeLost(t, lease.Err(), fencehold.ReasonExpired)
	})
}

func TestWallClockForwardWithoutRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, distantClient(t, server, fencehold.WithoutRenewal()), "job")
		clocktest.StepWall(t, time.Hour)
		if lease.Valid() {
			t.Error("valid although nothing can confirm it")
		}
		mustBeLost(t, lease.Err(), fencehold.ReasonExpired)
	})
}

func TestB32WallClockBack(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := distantClient(t, server, fencehold.WithTTL(3*time.Second))
		lease := acquire(t, client, "job")
		start := time.Now()
		clocktest.StepWall(t, -time.Hour)
		_, err := client.Mutex("job", fencehold.WithMaxWait(2*time.Second)).Acquire(t.Context())
		if !errors.Is(err, fencehold.ErrHeld) || time.Since(start) != 2*time.Second {
			t.Errorf("wait of 2s ended after %v with %v", time.Since(start), err)
		}
		time.Sleep(10 * time.Second)
		if !lease.Valid() {
			t.Errorf("lost to a clock set back: %v", lease.Err())
		}
	})
}

// A backend in this machine sleeps when the holder sleeps.
func TestSuspendDoesNotConcernLocalBackends(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server), "job")
		clocktest.Suspend(t, time.Hour)
		clocktest.StepWall(t, time.Hour)
		if !lease.Valid() {
			t.Errorf("lost: %v", lease.Err())
		}
	})
}

// A doubt is cleared at once also where renewal has nothing left to gain, and
// ends the lease where it is not renewed for want of progress.
func TestWallClockForwardUnderLimits(t *testing.T) {
	for name, c := range map[string]struct {
		opt  fencehold.Option
		lost bool
	}{
		"max hold": {fencehold.WithMaxHold(4 * time.Second), false},
		"idle":     {fencehold.WithProgress(time.Second), true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				lease := acquire(t, distantClient(t, server, fencehold.WithTTL(5*time.Second)), "job", c.opt)
				time.Sleep(1200 * time.Millisecond)
				clocktest.StepWall(t, time.Hour)
				time.Sleep(1100 * time.Millisecond)
				if lease.Valid() == c.lost || (lease.Err() != nil) != c.lost {
					t.Errorf("valid is %v, error %v", lease.Valid(), lease.Err())
				}
			})
		})
	}
}
