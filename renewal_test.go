package fencehold_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/memlock"
)

// Must show 7: a lease renews for 20 TTLs while the work goes on, and no longer
// once it stops reporting.
func TestProgressGatesRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		const ttl = time.Second
		client := newClient(t, server, fencehold.WithTTL(ttl), fencehold.WithProgress(2*time.Second))
		lease := acquire(t, client, "job")
		for end := time.Now().Add(20 * ttl); time.Now().Before(end); {
			time.Sleep(1500 * time.Millisecond)
			if !lease.Valid() {
				t.Fatalf("lost while the work went on: %v", lease.Err())
			}
			lease.Progress()
		}
		stopped := time.Now()
		<-lease.Done()
		if d := time.Since(stopped); d < 2*time.Second || d > 2*time.Second+ttl {
			t.Errorf("lost %v after the last report, want between 2s and 3s", d)
		}
		lost := mustBeLost(t, lease.Err(), fencehold.ReasonExpired)
		if lost.Why != "no progress reported for 2s" {
			t.Errorf("reason %q", lost.Why)
		}
	})
}

// A report that comes when the renewal is overdue sends it.
func TestProgressResumesRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(3*time.Second), fencehold.WithProgress(500*time.Millisecond))
		lease := acquire(t, client, "job")
		for range 10 {
			time.Sleep(2500 * time.Millisecond)
			lease.Progress()
			synctest.Wait()
		}
		if !lease.Valid() {
			t.Errorf("lost although the work reported in time: %v", lease.Err())
		}
	})
}

func TestRenewalOutlives20TTLs(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server, fencehold.WithTTL(100*time.Millisecond)), "job")
		time.Sleep(20 * 100 * time.Millisecond)
		if !lease.Valid() {
			t.Errorf("lost: %v", lease.Err())
		}
	})
}

func TestRenewalsAreSpreadAroundAThirdOfTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		start := time.Now()
		var first []time.Duration
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" && len(first) < 100 {
				first = append(first, time.Since(start))
			}
			return memlock.Fault{}
		})
		for i := range 100 {
			acquire(t, client, fmt.Sprintf("job-%d", i))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if len(first) < 20 {
			t.Fatalf("%d renewals seen, want them spread over time", len(first))
		}
		for _, at := range first {
			if at < 8500*time.Millisecond || at > 11*time.Second {
				t.Errorf("renewed after %v of 30s", at)
			}
		}
	})
}

func TestMaxHoldIsAHardCap(t *testing.T) {
	for name, disturb := range map[string]func(*fencehold.Lease){
		"renewed":  func(*fencehold.Lease) {},
		"extended": func(l *fencehold.Lease) { _ = l.Extend(context.Background(), time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				client := newClient(t, server, fencehold.WithTTL(time.Second), fencehold.WithMaxHold(10*time.Second))
				start := time.Now()
				lease := acquire(t, client, "job")
				disturb(lease)
				if end := lease.Expires().Sub(start); end > 10*time.Second {
					t.Errorf("expires after %v", end)
				}
				<-lease.Done()
				if d := time.Since(start); d != 10*time.Second {
					t.Errorf("ended after %v, want 10s", d)
				}
				mustBeLost(t, lease.Err(), fencehold.ReasonMaxHold)
				acquire(t, newClient(t, server), "job")
				if d := time.Since(start); d > 11*time.Second {
					t.Errorf("free after %v", d)
				}
				mustBeLost(t, lease.Release(t.Context()), fencehold.ReasonMaxHold)
			})
		})
	}
}

func TestMaxHoldShorterThanTheTTL(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		start := time.Now()
		lease := acquire(t, newClient(t, server, fencehold.WithMaxHold(2*time.Second)), "job")
		<-lease.Done()
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("ended after %v, want 2s", d)
		}
	})
}

func TestExpiringComesBeforeTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(3*time.Second))
		lease := acquire(t, client, "job")
		server.Script(on("renew", memlock.Fault{Err: errNetwork}))
		warning := lease.Expiring()
		select {
		case <-warning:
			t.Fatal("warned at once")
		default:
		}
		start := time.Now()
		<-warning
		if d := time.Since(start); d > 1200*time.Millisecond {
			t.Errorf("warned after %v, want the first failed renewal", d)
		}
		if !lease.Valid() {
			t.Error("the warning came too late")
		}
		select {
		case <-lease.Expiring():
		default:
			t.Error("a later call is not warned")
		}
		server.Script(nil)
		time.Sleep(time.Second)
		select {
		case <-lease.Expiring():
			t.Error("the warning stands after a renewal came through")
		default:
		}
	})
}

func TestExpiringWithoutRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server, fencehold.WithoutRenewal()), "job")
		start := time.Now()
		<-lease.Expiring()
		if d := time.Since(start); d < 15*time.Second || d > 21*time.Second {
			t.Errorf("warned after %v of 30s, want when a third is left", d)
		}
	})
}

// One renewal that hangs does not keep others from being renewed, nor their
// ends from being signalled.
func TestASlowRenewalHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client, err := fencehold.New(distant{server.Backend()}, fencehold.WithTTL(3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		stuck := acquire(t, client, "stuck")
		fine := acquire(t, client, "fine")
		server.Script(func(c memlock.Call) memlock.Fault {
			return memlock.Fault{DropRequest: c.Op == "renew" && c.Name == "stuck"}
		})
		start := time.Now()
		<-stuck.Done()
		if d := time.Since(start); d >= 3*time.Second {
			t.Errorf("signalled after %v of a TTL of 3s", d)
		}
		time.Sleep(10 * time.Second)
		if !fine.Valid() {
			t.Errorf("lost beside a stuck one: %v", fine.Err())
		}
	})
}

func TestExtendWithoutRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(2*time.Second), fencehold.WithoutRenewal())
		lease := acquire(t, client, "job")
		for range 5 {
			time.Sleep(1500 * time.Millisecond)
			if err := lease.Extend(t.Context(), 2*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		<-lease.Done()
		if d := time.Since(start); d >= 2*time.Second || d < 1800*time.Millisecond {
			t.Errorf("ended %v after the last extension to 2s", d)
		}
		if err := lease.Extend(t.Context(), 2*time.Second); !errors.Is(err, fencehold.ErrLost) {
			t.Errorf("extended a lease that was lost: %v", err)
		}
	})
}

func TestExtendWaitsForARenewalWithinItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(30*time.Second))
		lease := acquire(t, client, "job")
		server.Script(on("renew", memlock.Fault{ReplyDelay: 4 * time.Second}))
		time.Sleep(11500 * time.Millisecond) // a renewal is on its way
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := lease.Extend(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("extend beside a renewal: %v, want the context's error", err)
		}
		if err := lease.Extend(t.Context(), time.Minute); err != nil {
			t.Errorf("extend after the renewal: %v", err)
		}
		if left := time.Until(lease.Expires()); left < 50*time.Second {
			t.Errorf("%v left", left)
		}
	})
}

func TestExtendUnknownOutcomeKeepsTheOldEnd(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server, fencehold.WithoutRenewal()), "job")
		end := lease.Expires()
		server.Script(on("renew", memlock.Fault{DropReply: true, Err: errNetwork}))
		err := lease.Extend(t.Context(), time.Minute)
		if !errors.Is(err, fencehold.ErrUnavailable) || !errors.Is(err, errNetwork) {
			t.Errorf("error %v", err)
		}
		if !lease.Expires().Equal(end) || !lease.Valid() {
			t.Errorf("an unknown outcome moved the end by %v", lease.Expires().Sub(end))
		}
	})
}

// The renewal of an extended lease waits until the extension is used up.
func TestRenewalAfterExtension(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		lease := acquire(t, newClient(t, server, fencehold.WithTTL(2*time.Second)), "job")
		if err := lease.Extend(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		var renewals atomic.Int32
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" {
				renewals.Add(1)
			}
			return memlock.Fault{}
		})
		time.Sleep(55 * time.Second)
		synctest.Wait()
		if renewals.Load() != 0 {
			t.Errorf("%d renewals while there was time", renewals.Load())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := renewals.Load(); !lease.Valid() || n < 60 || n > 130 {
			t.Errorf("%d renewals in the minute after; %v", n, lease.Err())
		}
	})
}

// In a batch, one lease whose request gets no answer does not keep others from
// being renewed, and is called back when it is released.
func TestBatchHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		long := acquire(t, client, "long", fencehold.WithTTL(time.Hour))
		short := acquire(t, client, "short", fencehold.WithTTL(3*time.Second))
		server.Script(func(c memlock.Call) memlock.Fault {
			return memlock.Fault{DropRequest: c.Op == "renew" && c.Name == "long"}
		})
		time.Sleep(25 * time.Minute)
		if !short.Valid() {
			t.Errorf("lost beside a lease whose renewal hangs: %v", short.Err())
		}
		start := time.Now()
		_ = long.Release(t.Context())
		_ = client.Close()
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("release and close took %v", d)
		}
	})
}
