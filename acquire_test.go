package fencehold_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/memlock"
)

func TestHeldSaysWhoAndWhere(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		granted := time.Now()
		lease := acquire(t, newClient(t, server, fencehold.WithOwner("web-1")), "job")
		time.Sleep(5 * time.Second)
		for range 2 {
			go func() {
				_, _ = newClient(t, server).Mutex("job", fencehold.WithMaxWait(time.Minute)).Acquire(t.Context())
			}()
			synctest.Wait()
		}
		_, err := newClient(t, server).Mutex("job", fencehold.WithMaxWait(time.Second)).Acquire(t.Context())
		var held *fencehold.HeldError
		if !errors.Is(err, fencehold.ErrHeld) || !errors.As(err, &held) {
			t.Fatal(err)
		}
		if held.Owner != "web-1" || held.Holder != lease.Fence().Holder || !held.Since.Equal(granted) || held.Position != 3 {
			t.Errorf("told %+v", held)
		}
		if held.Remaining < 20*time.Second || held.Remaining > 30*time.Second {
			t.Errorf("%v remaining", held.Remaining)
		}
		if !strings.Contains(err.Error(), "acquire job (memory): held by another owner: web-1, since ") {
			t.Errorf("message %q", err)
		}
	})
}

func TestB28WaitLimits(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		holder := acquire(t, newClient(t, server, fencehold.WithTTL(10*time.Second)), "job")
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		start := time.Now()
		time.AfterFunc(3*time.Second, func() { _ = holder.Release(context.Background()) })

		_, err := client.Mutex("job", fencehold.WithMaxWait(500*time.Millisecond)).Acquire(t.Context())
		if !errors.Is(err, fencehold.ErrHeld) || time.Since(start) != 500*time.Millisecond {
			t.Errorf("wait of 500ms: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err = client.Mutex("job", fencehold.WithMaxWait(10*time.Second)).Acquire(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fencehold.ErrHeld) ||
			time.Since(start) != 800*time.Millisecond {
			t.Errorf("context of 300ms: %v after %v", err, time.Since(start))
		}
		lease := acquire(t, client, "job", fencehold.WithMaxWait(10*time.Second))
		if time.Since(start) != 3*time.Second {
			t.Errorf("granted after %v, want 3s", time.Since(start))
		}
		if left := time.Until(lease.Expires()); left < 900*time.Millisecond {
			t.Errorf("%v left of the full TTL of 1s", left)
		}
	})
}

// The context's own cause stays visible.
func TestContextCauseIsVisible(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		acquire(t, newClient(t, server), "job")
		why := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, err := newClient(t, server).Mutex("job").Acquire(ctx)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, why) || errors.Is(err, fencehold.ErrHeld) {
			t.Errorf("error %v", err)
		}
	})
}

func TestB15CancelledWhileTheGrantIsOnItsWay(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithTTL(time.Second))
		server.Script(on("acquire", memlock.Fault{ReplyDelay: 500 * time.Millisecond}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := client.Mutex("job").Acquire(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "renew" {
				t.Error("a renewal for a call that failed")
			}
			return memlock.Fault{}
		})
		acquire(t, newClient(t, server), "job")
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("free after %v, want at once", d)
		}
	})
}

// B17 run 1: the repeated attempt meets its own grant.
func TestB17LostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		calls := 0
		server.Script(func(c memlock.Call) memlock.Fault {
			calls++
			if calls == 1 {
				return memlock.Fault{DropReply: true, Err: errNetwork}
			}
			return memlock.Fault{}
		})
		lease, err := client.Mutex("job").TryAcquire(t.Context())
		if err != nil || calls != 2 {
			t.Fatalf("%v after %d calls", err, calls)
		}
		if holding, _ := client.Inspect(t.Context(), "job"); holding.Token != lease.Token() {
			t.Errorf("lease has token %v, the server %v", lease.Token(), holding.Token)
		}
	})
}

// B17 run 2: the outcome stays unknown, and what there was is undone as soon as
// the service answers again.
func TestB17LostAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		server.Script(func(memlock.Call) memlock.Fault { return memlock.Fault{DropReply: true, Err: errNetwork} })
		_, err := client.Mutex("job").TryAcquire(t.Context())
		if !errors.Is(err, fencehold.ErrUnavailable) || !errors.Is(err, errNetwork) || errors.Is(err, fencehold.ErrHeld) {
			t.Errorf("error %v", err)
		}
		server.Script(nil)
		start := time.Now()
		acquire(t, newClient(t, server), "job")
		if d := time.Since(start); d > time.Second {
			t.Errorf("free after %v", d)
		}
	})
}

// plain has no abilities: the core polls.
type plain struct{ driver.Backend }

// notifying can tell when it is worth trying again.
type notifying struct {
	plain
	notice chan struct{}
	fail   error
}

func (n *notifying) Wait(ctx context.Context, _ string) error {
	if n.fail != nil {
		return n.fail
	}
	select {
	case <-n.notice:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestPollingWithoutAQueue(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		holder := acquire(t, newClient(t, server), "job")
		client, err := fencehold.New(plain{server.Backend()})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		attempts := 0
		server.Script(func(c memlock.Call) memlock.Fault {
			if c.Op == "try" {
				attempts++
			}
			return memlock.Fault{}
		})
		start := time.Now()
		time.AfterFunc(10*time.Second, func() { _ = holder.Release(context.Background()) })
		lease := acquire(t, client, "job")
		if d := time.Since(start); d < 10*time.Second || d > 10*time.Second+60*time.Millisecond {
			t.Errorf("granted after %v, want 10s and a poll at most", d)
		}
		synctest.Wait()
		if attempts < 10*1000/60 || attempts > 10*1000/35 {
			t.Errorf("%d attempts in 10s", attempts)
		}
		// The holder's remaining time is better than the next poll.
		server.Advance(lease.TTL() - 5*time.Millisecond)
		start = time.Now()
		acquire(t, client, "job")
		if d := time.Since(start); d > 10*time.Millisecond {
			t.Errorf("granted after %v, want the 5ms that the holder had left", d)
		}
	})
}

func TestWaitingForANotice(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		backend := &notifying{plain: plain{server.Backend()}, notice: make(chan struct{})}
		client, err := fencehold.New(backend)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		holder := acquire(t, newClient(t, server), "job")
		start := time.Now()
		time.AfterFunc(300*time.Millisecond, func() {
			_ = holder.Release(context.Background())
			backend.notice <- struct{}{}
		})
		acquire(t, client, "job")
		if d := time.Since(start); d != 300*time.Millisecond {
			t.Errorf("granted after %v, want at the notice", d)
		}
	})
}

// No notice ever comes, or waiting for it fails: polling goes on.
func TestB38NoNoticeComes(t *testing.T) {
	for name, fail := range map[string]error{"silent": nil, "failing": errNetwork} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				client, err := fencehold.New(&notifying{plain: plain{server.Backend()}, fail: fail})
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				holder := acquire(t, newClient(t, server), "job")
				start := time.Now()
				time.AfterFunc(300*time.Millisecond, func() { _ = holder.Release(context.Background()) })
				acquire(t, client, "job")
				if d := time.Since(start); d > 1100*time.Millisecond {
					t.Errorf("granted after %v", d)
				}
			})
		})
	}
}

// Goroutines of a client are one waiter towards the backend.
func TestOneWaiterPerClientAndName(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		holder := acquire(t, newClient(t, server), "job")
		client := newClient(t, server)
		var order []int
		for i := range 50 {
			go func() {
				_ = client.Mutex("job").Do(t.Context(), func(context.Context) error {
					order = append(order, i)
					return nil
				})
			}()
			synctest.Wait()
		}
		if holding, _ := client.Inspect(t.Context(), "job"); holding.Waiting != 1 {
			t.Errorf("%d waiters on the backend, want 1", holding.Waiting)
		}
		_ = holder.Release(t.Context())
		synctest.Wait()
		synctest.Wait()
		for i, got := range order {
			if got != i {
				t.Fatalf("served %v, want the order of arrival", order)
			}
		}
		if len(order) != 50 {
			t.Errorf("served %d of 50", len(order))
		}
	})
}

// The front of the local line gives up: the next one takes its place.
func TestB19LocalLineMovesOn(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		holder := acquire(t, newClient(t, server), "job")
		client := newClient(t, server)
		quit := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := client.Mutex("job", fencehold.WithMaxWait(time.Second)).Acquire(t.Context())
				quit <- err
			}()
			synctest.Wait()
		}
		served := make(chan error, 1)
		go func() {
			_, err := client.Mutex("job").Acquire(t.Context())
			served <- err
		}()
		for range 2 {
			if err := <-quit; !errors.Is(err, fencehold.ErrHeld) {
				t.Errorf("error %v", err)
			}
		}
		synctest.Wait()
		if holding, _ := client.Inspect(t.Context(), "job"); holding.Waiting != 1 {
			t.Errorf("%d waiters after two gave up, want 1", holding.Waiting)
		}
		_ = holder.Release(t.Context())
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// badToken grants without a token although it promises them.
type badToken struct{ plain }

func (b badToken) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	grant, err := b.Backend.TryAcquire(ctx, req)
	grant.Token = 1 << 53
	return grant, err
}

func TestTokenOutOfRangeIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client, err := fencehold.New(badToken{plain{server.Backend()}})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.Mutex("job").TryAcquire(t.Context()); !errors.Is(err, fencehold.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	})
}

func TestCloseWhileAGrantIsOnItsWay(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server)
		server.Script(on("acquire", memlock.Fault{ReplyDelay: time.Second}))
		result := make(chan error, 1)
		go func() {
			_, err := client.Mutex("job").Acquire(t.Context())
			result <- err
		}()
		synctest.Wait()
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, fencehold.ErrClosed) {
			t.Errorf("error %v", err)
		}
		if holding, _ := newClient(t, server).Inspect(t.Context(), "job"); holding.Held {
			t.Error("the grant was left behind")
		}
	})
}

// A service that does not answer has not said that somebody holds the lock.
func TestWaitOnASilentService(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		client := newClient(t, server, fencehold.WithMaxWait(time.Second))
		server.Script(func(memlock.Call) memlock.Fault { return memlock.Fault{DropRequest: true} })
		start := time.Now()
		_, err := client.Mutex("job").Acquire(t.Context())
		if !errors.Is(err, fencehold.ErrUnavailable) || errors.Is(err, fencehold.ErrHeld) {
			t.Errorf("error %v, want ErrUnavailable", err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("waited %v", d)
		}
	})
}

// Who barges into a line is served before those who stand in it, and pollers
// are not starved by it.
func TestBargingIntoALine(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		holder := acquire(t, newClient(t, server), "job")
		var order []string
		var mu sync.Mutex
		var served sync.WaitGroup
		wait := func(who string, opts ...fencehold.Option) {
			client := newClient(t, server, opts...)
			served.Go(func() {
				lease := acquire(t, client, "job")
				mu.Lock()
				order = append(order, who)
				mu.Unlock()
				_ = lease.Release(t.Context())
			})
			synctest.Wait()
		}
		wait("first")
		wait("second")
		wait("barger", fencehold.WithBarging())
		wait("second barger", fencehold.WithBarging())
		_ = holder.Release(t.Context())
		served.Wait()
		if want := []string{"barger", "second barger", "first", "second"}; !slices.Equal(order, want) {
			t.Errorf("served %q, want %q", order, want)
		}
	})
}

// shortGrants hands out grants that are to be renewed at once.
type shortGrants struct{ driver.Backend }

func (s shortGrants) TryAcquire(ctx context.Context, req driver.Request) (driver.Grant, error) {
	req.TTL = time.Second
	return s.Backend.TryAcquire(ctx, req)
}

// A short grant gets its whole TTL from the first renewal, and at once where
// nothing renews it.
func TestShortGrantIsLengthened(t *testing.T) {
	for name, opts := range map[string][]fencehold.Option{
		"renewed": nil, "not renewed": {fencehold.WithoutRenewal()}, "detached": {fencehold.WithDetached()},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, server *memlock.Server) {
				client := newClientOn(t, shortGrants{server.Backend()}, fencehold.WithTTL(30*time.Second))
				lease := acquire(t, client, "job", opts...)
				if name != "renewed" && lease.TTL() != 30*time.Second {
					t.Errorf("TTL %v", lease.TTL())
				}
				time.Sleep(5 * time.Second)
				if !lease.Valid() {
					t.Errorf("after 5s: %v", lease.Err())
				}
			})
		})
	}
}

// A short grant that cannot be lengthened is given back.
func TestShortGrantThatCannotBeLengthened(t *testing.T) {
	bubble(t, func(t *testing.T, server *memlock.Server) {
		server.Script(on("renew", memlock.Fault{Err: errors.New("out of order")}))
		client := newClientOn(t, shortGrants{server.Backend()}, fencehold.WithoutRenewal())
		_, err := client.Mutex("job").Acquire(t.Context())
		if !errors.Is(err, fencehold.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if _, err := newClient(t, server).Mutex("job").TryAcquire(t.Context()); err != nil {
			t.Errorf("left behind: %v", err)
		}
	})
}
