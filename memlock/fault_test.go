package memlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/memlock"
)

func request(name string) driver.Request {
	return driver.Request{Name: name, Holder: driver.NewHolder(), Owner: "test", TTL: time.Second}
}

func TestNothingIsLeftBehind(t *testing.T) {
	server := memlock.New()
	locktest.RunLeaks(t, func(*testing.T) driver.Backend { return server.Backend() })
}

func TestAdvanceExpiresGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.New()
		b := server.Backend()
		first, err := b.TryAcquire(t.Context(), request("x"))
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan driver.Grant)
		go func() {
			g, _ := server.Backend().(driver.Queuer).Acquire(t.Context(), request("x"))
			waited <- g
		}()
		synctest.Wait()
		server.Advance(999 * time.Millisecond)
		synctest.Wait()
		select {
		case <-waited:
			t.Fatal("granted before the TTL was over")
		default:
		}
		server.Advance(time.Millisecond)
		if g := <-waited; g.Token <= first.Token {
			t.Errorf("token %v after %v", g.Token, first.Token)
		}
		if _, err := b.Renew(t.Context(), first, time.Second); !errors.Is(err, fencehold.ErrLost) {
			t.Errorf("renewed after expiry: %v", err)
		}
	})
}

func TestExpireAndDelete(t *testing.T) {
	server := memlock.New()
	b := server.Backend()
	for name, end := range map[string]func(string){"expired": server.Expire, "deleted": server.Delete} {
		g, err := b.TryAcquire(t.Context(), request(name))
		if err != nil {
			t.Fatal(err)
		}
		end(name)
		end("another name")
		_, err = b.Renew(t.Context(), g, time.Second)
		var lost *fencehold.LostError
		if !errors.As(err, &lost) || string(lost.Reason) != name {
			t.Errorf("%s: renewal says %v", name, err)
		}
	}
}

func TestFaults(t *testing.T) {
	cut := errors.New("cut")
	for name, c := range map[string]struct {
		fault    memlock.Fault
		err      error
		executed bool
		after    time.Duration
	}{
		"none":                 {memlock.Fault{}, nil, true, 0},
		"delay":                {memlock.Fault{Delay: time.Second}, nil, true, time.Second},
		"reply delay":          {memlock.Fault{ReplyDelay: time.Second}, nil, true, time.Second},
		"delay too long":       {memlock.Fault{Delay: time.Hour}, context.DeadlineExceeded, false, time.Minute},
		"reply delay too long": {memlock.Fault{ReplyDelay: time.Hour}, context.DeadlineExceeded, true, time.Minute},
		"request lost":         {memlock.Fault{DropRequest: true}, context.DeadlineExceeded, false, time.Minute},
		"reply lost":           {memlock.Fault{DropReply: true}, context.DeadlineExceeded, true, time.Minute},
		"request cut":          {memlock.Fault{DropRequest: true, Err: cut}, cut, false, 0},
		"reply cut":            {memlock.Fault{DropReply: true, Err: cut}, cut, true, 0},
		"refused":              {memlock.Fault{Err: cut}, cut, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := memlock.New()
				server.Script(func(memlock.Call) memlock.Fault { return c.fault })
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				req := request("x")
				req.TTL = time.Hour
				_, err := server.Backend().TryAcquire(ctx, req)
				if !errors.Is(err, c.err) || time.Since(start) != c.after {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(start), c.err, c.after)
				}
				server.Script(nil)
				holding, err := server.Backend().(driver.Inspector).Inspect(t.Context(), "x")
				if err != nil || holding.Held != c.executed {
					t.Errorf("held is %v, want %v; %v", holding.Held, c.executed, err)
				}
			})
		})
	}
}

func TestScriptSeesEachCall(t *testing.T) {
	server := memlock.New()
	var seen []memlock.Call
	server.Script(func(c memlock.Call) memlock.Fault {
		seen = append(seen, c)
		return memlock.Fault{}
	})
	b := server.Backend()
	req := request("x")
	g, _ := b.(driver.Queuer).Acquire(t.Context(), req)
	_, _ = b.Renew(t.Context(), g, time.Second)
	_ = b.Release(t.Context(), g, 0)
	want := []memlock.Call{{"acquire", "x", req.Holder}, {"renew", "x", req.Holder}, {"release", "x", req.Holder}}
	if len(seen) != len(want) {
		t.Fatalf("seen %v, want %v", seen, want)
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("seen %v, want %v", seen[i], want[i])
		}
	}
}

// The victim of many revocations that nobody asks about costs bounded memory.
func TestNotesAreBounded(t *testing.T) {
	server := memlock.New()
	b := server.Backend()
	for range 5000 {
		g, err := b.TryAcquire(t.Context(), request("x"))
		if err != nil {
			t.Fatal(err)
		}
		server.Delete("x")
		if _, err := b.Renew(t.Context(), g, time.Second); !errors.Is(err, fencehold.ErrLost) {
			t.Fatal(err)
		}
	}
}

func TestClosedBackend(t *testing.T) {
	b := memlock.New().Backend()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.TryAcquire(t.Context(), request("x")); !errors.Is(err, fencehold.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// A waiter's time to be served moves with the clock.
func TestAdvanceMovesTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.New()
		req := request("x")
		req.TTL = 30 * time.Second
		if _, err := server.Backend().TryAcquire(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		served := make(chan time.Duration, 1)
		go func() {
			_, _ = server.Backend().(driver.Queuer).Acquire(t.Context(), request("x"))
			served <- time.Since(start)
		}()
		synctest.Wait()
		server.Advance(20 * time.Second)
		if d := <-served; d != 10*time.Second {
			t.Errorf("served after %v, want the 10s that were left", d)
		}
	})
}
