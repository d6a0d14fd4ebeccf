package fencehold_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/memlock"
)

var errNetwork = errors.New("network is down")

// bubble runs a test in virtual time with a server of its own.
func bubble(t *testing.T, test func(t *testing.T, server *memlock.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, memlock.New()) })
}

func acquire(t *testing.T, c *fencehold.Client, name string, opts ...fencehold.Option) *fencehold.Lease {
	t.Helper()
	lease, err := c.Mutex(name, opts...).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// on returns a script that does fault to one operation.
func on(op string, fault memlock.Fault) func(memlock.Call) memlock.Fault {
	return func(c memlock.Call) memlock.Fault {
		if c.Op == op {
			return fault
		}
		return memlock.Fault{}
	}
}

func mustBeLost(t *testing.T, err error, want fencehold.Reason) *fencehold.LostError {
	t.Helper()
	var lost *fencehold.LostError
	if !errors.Is(err, fencehold.ErrLost) || !errors.As(err, &lost) || lost.Reason != want {
		t.Fatalf("error %v: want a loss by %q", err, want)
	}
	return lost
}

// Must show 7: with renewals denied, the context ends before the expiry, with
// the reason.
func TestB01LossSignalBeforeExpiry(t *testing.T) {
	for name, fault := range map[string]memlock.Fault{
		"refused":        {Err: errNetwork},
		"silent":         {DropRequest: true},
		"reply lost":     {DropReply: true},
		"reply too late": {ReplyDelay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				server.Script(on("renew", fault))
				testLossSignal(t, server, fault.DropReply || fault.ReplyDelay > 0)
			})
		})
	}
}

func testLossSignal(t *testing.T, server *memlock.Server, renewedThere bool) {
	t.Helper()
	start := time.Now()
	a, b := newClient(t, server), newClient(t, server)
	lease := acquire(t, a, "job", fencehold.WithTTL(time.Second))
	ctx := lease.Context(t.Context())
	granted := make(chan time.Time, 1)
	go func() {
		acquire(t, b, "job")
		granted <- time.Now()
	}()
	<-ctx.Done()
	ended := time.Since(start)
	if ended >= time.Second || ended < 900*time.Millisecond {
		t.Errorf("context ended after %v of a TTL of 1s", ended)
	}
	mustBeLost(t, context.Cause(ctx), fencehold.ReasonUnreachable)
	mustBeLost(t, lease.Err(), fencehold.ReasonUnreachable)
	if lease.Valid() {
		t.Error("Valid after the loss")
	}
	next := (<-granted).Sub(start)
	if next < ended {
		t.Errorf("the next grant came at %v, the signal at %v", next, ended)
	}
	if !renewedThere && next != time.Second {
		t.Errorf("the next grant came at %v, want the TTL of 1s", next)
	}
	mustBeLost(t, lease.Release(t.Context()), fencehold.ReasonUnreachable)
}

// A grant counts from before the request was sent, however late the answer.
func TestB27ValidityCountsFromTheSend(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second), fencehold.WithoutRenewal())
		server.Script(on("acquire", memlock.Fault{ReplyDelay: 400 * time.Millisecond}))
		start := time.Now()
		lease := acquire(t, client, "job")
		if left := lease.Expires().Sub(start); left >= time.Second || left < 900*time.Millisecond {
			t.Errorf("the lease ends %v after the send, want just under 1s", left)
		}
		<-lease.Done()
		if d := time.Since(start); d != lease.Expires().Sub(start) {
			t.Errorf("ended after %v, announced for %v", d, lease.Expires().Sub(start))
		}
	})
}

// An answer that comes after the lease has run out is no lease.
func TestB27GrantThatComesTooLate(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(200*time.Millisecond))
		server.Script(on("try", memlock.Fault{ReplyDelay: 300 * time.Millisecond}))
		_, err := client.Mutex("job").TryAcquire(t.Context())
		if !errors.Is(err, fencehold.ErrUnavailable) || errors.Is(err, fencehold.ErrHeld) {
			t.Fatalf("error %v, want ErrUnavailable", err)
		}
		server.Script(nil)
		if _, err := client.Mutex("job").TryAcquire(t.Context()); err != nil {
			t.Errorf("something was left behind: %v", err)
		}
	})
}

// A renewal's answer that is late moves the end on by no more than it is worth.
func TestB27RenewalCountsFromTheSend(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second), fencehold.WithoutRenewal())
		lease := acquire(t, client, "job")
		time.Sleep(500 * time.Millisecond)
		server.Script(on("renew", memlock.Fault{Delay: 200 * time.Millisecond, ReplyDelay: 200 * time.Millisecond}))
		sent := time.Now()
		if err := lease.Extend(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		if left := lease.Expires().Sub(sent); left >= time.Second || left < 900*time.Millisecond {
			t.Errorf("the lease ends %v after the renewal was sent, want just under 1s", left)
		}
		server.Script(on("renew", memlock.Fault{ReplyDelay: 1200 * time.Millisecond}))
		if err := lease.Extend(t.Context(), time.Second); !errors.Is(err, fencehold.ErrLost) {
			t.Errorf("answer after the end: %v, want ErrLost", err)
		}
	})
}

func TestB02NotMineIsFinal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(3*time.Second))
		lease := acquire(t, client, "job")
		server.Delete("job")
		other := acquire(t, newClient(t, server), "job")
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d > 1200*time.Millisecond {
			t.Errorf("learnt of it after %v, want the next renewal", d)
		}
		mustBeLost(t, lease.Err(), fencehold.ReasonDeleted)
		if err := lease.Extend(t.Context(), time.Second); !errors.Is(err, fencehold.ErrLost) {
			t.Errorf("extend: %v", err)
		}
		time.Sleep(10 * time.Second)
		if !other.Valid() {
			t.Errorf("the other holder: %v", other.Err())
		}
		mustBeLost(t, lease.Release(t.Context()), fencehold.ReasonDeleted)
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("loss reported twice: %v", err)
		}
	})
}

func TestTakenOverIsFinal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server, fencehold.WithTTL(3*time.Second)), "job")
		server.Expire("job")
		acquire(t, newClient(t, server, fencehold.WithOwner("the other")), "job")
		<-lease.Done()
		if lost := mustBeLost(t, lease.Err(), fencehold.ReasonTakenOver); lost.By != "the other" {
			t.Errorf("taken over by %q", lost.By)
		}
	})
}

// The clock of the server is stepped: the holder learns it with its renewal,
// and the token of the next holder is larger.
func TestB32ServerClockStep(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server, fencehold.WithTTL(3*time.Second)), "job")
		server.Advance(time.Hour)
		next := acquire(t, newClient(t, server), "job")
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d > 1200*time.Millisecond {
			t.Errorf("learnt of it after %v", d)
		}
		if next.Token() <= lease.Token() || !next.Fence().Supersedes(lease.Fence()) {
			t.Errorf("token %v after %v", next.Token(), lease.Token())
		}
	})
}

func TestB03OneFailedRenewalLeavesTime(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(3*time.Second))
		lease := acquire(t, client, "job")
		failures := 0
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" && failures == 0 {
				failures++
				return memlock.Fault{Err: errNetwork}
			}
			return memlock.Fault{}
		})
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if !lease.Valid() || failures != 1 {
			t.Errorf("after %d failed renewals: %v", failures, lease.Err())
		}
	})
}

func TestB03RenewalIsTriedUntilTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(3*time.Second))
		lease := acquire(t, client, "job")
		attempts := 0
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" {
				attempts++
			}
			return on("renew", memlock.Fault{Err: errNetwork})(c)
		})
		<-lease.Done()
		synctest.Wait()
		lost := mustBeLost(t, lease.Err(), fencehold.ReasonUnreachable)
		if attempts < 5 || attempts > 20 {
			t.Errorf("%d attempts in 2s", attempts)
		}
		if !errors.Is(lost, errNetwork) {
			t.Errorf("loss %v hides the error of the backend", lost)
		}
	})
}

// A late answer to a renewal does not bring a released lock back, nor does it
// raise an alarm.
func TestB12RenewalOnItsWayAtRelease(t *testing.T) {
	for _, delay := range []time.Duration{1, 50 * time.Millisecond, 500 * time.Millisecond} {
		bubble(t, func(t *testing.T, server *memlock.Server) {
			lostHook := make(chan fencehold.Event, 1)
			client := newClient(t, server, fencehold.WithTTL(time.Second), fencehold.WithHooks(fencehold.Hooks{
				Lost: func(e fencehold.Event) { lostHook <- e },
			}))
			lease := acquire(t, client, "job")
			server.Script(on("renew", memlock.Fault{Delay: delay, ReplyDelay: delay}))
			time.Sleep(400 * time.Millisecond) // a renewal is on its way, or was
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			if holding, _ := client.Inspect(t.Context(), "job"); holding.Held {
				t.Error("held after release")
			}
			time.Sleep(3 * time.Second)
			if holding, _ := client.Inspect(t.Context(), "job"); holding.Held {
				t.Error("a late renewal brought the lock back")
			}
			if !errors.Is(lease.Err(), fencehold.ErrReleased) || len(lostHook) > 0 {
				t.Errorf("ended with %v, %d losses told", lease.Err(), len(lostHook))
			}
		})
	}
}

func TestB13ReleaseDuringAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		lease := acquire(t, client, "job")
		renewals := 0
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" {
				renewals++
			}
			return memlock.Fault{DropRequest: c.Op != "acquire"}
		})
		start := time.Now()
		err := lease.Release(t.Context())
		if !errors.Is(err, fencehold.ErrUnavailable) || errors.Is(err, fencehold.ErrLost) {
			t.Errorf("release during an outage: %v", err)
		}
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("release took %v", d)
		}
		next := acquire(t, newClient(t, server), "job")
		synctest.Wait()
		if renewals != 0 {
			t.Errorf("%d renewals after the release began", renewals)
		}
		server.Script(nil)
		time.Sleep(10 * time.Second)
		if !next.Valid() {
			t.Errorf("the next holder: %v", next.Err())
		}
	})
}

// After an outage the release that failed is made good before the TTL is over.
func TestReleaseGoesOnInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Minute))
		lease := acquire(t, client, "job")
		server.Script(on("release", memlock.Fault{Err: errNetwork}))
		if err := lease.Release(t.Context()); !errors.Is(err, fencehold.ErrUnavailable) || !errors.Is(err, errNetwork) {
			t.Fatalf("release during an outage: %v", err)
		}
		server.Script(nil)
		time.Sleep(3 * time.Second)
		if _, err := newClient(t, server).Mutex("job").TryAcquire(t.Context()); err != nil {
			t.Errorf("the lock is not free long before its TTL: %v", err)
		}
	})
}

func TestRevokedVictimLearnsWhoAndWhy(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server), "job")
		operator := newClient(t, server, fencehold.WithOwner("ops"))
		if err := operator.Unlock(t.Context(), "job", lease.Fence().Holder, "stuck since noon"); err != nil {
			t.Fatal(err)
		}
		<-lease.Done()
		lost := mustBeLost(t, lease.Err(), fencehold.ReasonRevoked)
		if lost.By != "ops" || lost.Why != "stuck since noon" {
			t.Errorf("told %+v", lost)
		}
	})
}

// The server says "not yours" to a renewal.
func TestDeniedRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server), "job")
		server.Script(on("renew", memlock.Fault{Err: &fencehold.LostError{Reason: fencehold.ReasonTakenOver, By: "them"}}))
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d < 8*time.Second || d > 12*time.Second {
			t.Errorf("denied after %v, want a third of 30s", d)
		}
		mustBeLost(t, lease.Err(), fencehold.ReasonTakenOver)
	})
}

// checking answers checks with whatever it is told to.
type checking struct {
	plain
	answer atomic.Pointer[error]
}

func (c *checking) Check(driver.Grant) error {
	if err := c.answer.Load(); err != nil {
		return *err
	}
	return nil
}

// A check that fails says nothing about the grant; one that says "not yours"
// ends the lease, within a second also where nobody asks.
func TestChecks(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		backend := &checking{plain: plain{server.Backend()}}
		client, err := fencehold.New(backend)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		lease := acquire(t, client, "job")
		backend.answer.Store(&errNetwork)
		for range 5 {
			if !lease.Valid() {
				t.Fatalf("lost to a check that failed: %v", lease.Err())
			}
			time.Sleep(time.Second)
		}
		var gone error = &fencehold.LostError{Reason: fencehold.ReasonDeleted}
		backend.answer.Store(&gone)
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d > time.Second {
			t.Errorf("noticed after %v", d)
		}
		mustBeLost(t, lease.Err(), fencehold.ReasonDeleted)
	})
}

// A backend that hears of a loss ends the lease at once, and only that one.
func TestLossToldByTheService(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		victim := newClient(t, server)
		lease, other := acquire(t, victim, "job"), acquire(t, victim, "other")
		start := time.Now()
		if err := newClient(t, server).Unlock(t.Context(), "job", lease.Fence().Holder, "maintenance"); err != nil {
			t.Fatal(err)
		}
		<-lease.Done()
		var lost *fencehold.LostError
		if err := lease.Err(); !errors.As(err, &lost) || lost.Reason != fencehold.ReasonRevoked || lost.Why != "maintenance" {
			t.Errorf("lease ended with %v", err)
		}
		if d := time.Since(start); d != 0 || !other.Valid() {
			t.Errorf("told after %v, the other lease is valid: %v", d, other.Valid())
		}
	})
}

// watched is a backend that can lose words of its service.
type watched struct {
	driver.Backend
	told driver.Told
}

func (w *watched) Watch(told driver.Told) { w.told = told }

// Words that were missed are made up for by renewing at once.
func TestMissedLossIsFoundAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		backend := &watched{Backend: server.Backend()}
		lease := acquire(t, newClientOn(t, backend), "job")
		server.Delete("job")
		start := time.Now()
		backend.told.Missed()
		<-lease.Done()
		if d := time.Since(start); d != 0 {
			t.Errorf("found after %v", d)
		}
	})
}
