package goredislock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/driver"
)

func TestReleaseDoesNotOvertakeTheAttempt(t *testing.T) {
	p := newProxied(t, redis.Options{})
	hold := p.proxy.HoldRequests("\r\ntry\r\n")
	req := request("job")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.TryAcquire(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the deadline's", err)
	}
	released := make(chan error, 1)
	go func() { released <- p.Release(bounded(t), driver.Grant{Name: req.Name, Holder: req.Holder}, 0) }()
	select {
	case err := <-released:
		hold.Release()
		t.Fatalf("released before the attempt was executed: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	hold.Release()
	if err := <-released; err != nil {
		t.Errorf("release: %v", err)
	}
	if p.server.Do("EXISTS", "lock:job") != "0" {
		t.Error("the lock was taken for nobody")
	}
}

func TestAbandonedCallsEnd(t *testing.T) {
	p := newProxied(t, redis.Options{ReadTimeout: 300 * time.Millisecond, DialTimeout: 300 * time.Millisecond})
	before := runtime.NumGoroutine()
	p.proxy.Cut()
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := p.TryAcquire(ctx, request(driver.NewHolder())); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline's", err)
		}
		cancel()
	}
	p.proxy.Heal()
	eventually(t, "what was left alone has ended", func() bool { return runtime.NumGoroutine() <= before })
}
