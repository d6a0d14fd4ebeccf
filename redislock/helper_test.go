package redislock_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

const (
	// slack is what a busy machine may add to a time that is checked.
	slack = 250 * time.Millisecond
	// limit ends whatever hangs.
	limit = 30 * time.Second
)

// openClient opens a client of its own, closed with the test.
func openClient(t testing.TB, url string, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	client, err := fencehold.New(openBackend(t, url), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// openThrough opens a client that reaches a server through a proxy.
func openThrough(t testing.TB, p *testcluster.Proxy, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	return openClient(t, "redis://"+p.Addr(), opts...)
}

// bounded returns a context that ends what hangs.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// acquire waits for a lock, and fails the test if there is none.
func acquire(t testing.TB, c *fencehold.Client, name string, opts ...fencehold.Option) *fencehold.Lease {
	t.Helper()
	lease, err := c.Mutex(name, opts...).Acquire(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// release gives a lock back, and fails the test if it was lost.
func release(t testing.TB, lease *fencehold.Lease) {
	t.Helper()
	if err := lease.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// mustBe fails unless err is of the outcome that is wanted, and of no other.
func mustBe(t testing.TB, err, want error) {
	t.Helper()
	for _, outcome := range []error{
		fencehold.ErrHeld, fencehold.ErrLost, fencehold.ErrReleased, fencehold.ErrUnavailable,
		fencehold.ErrInvalid, fencehold.ErrClosed, errors.ErrUnsupported, context.Canceled, context.DeadlineExceeded,
	} {
		if is := errors.Is(err, outcome); is != errors.Is(want, outcome) {
			t.Fatalf("error %q: errors.Is(err, %q) = %v; want only %v", err, outcome, is, want)
		}
	}
}

// mustBeLost fails unless err is a loss for one of these reasons.
func mustBeLost(t testing.TB, err error, reasons ...fencehold.Reason) {
	t.Helper()
	mustBe(t, err, fencehold.ErrLost)
	lost, _ := errors.AsType[*fencehold.LostError](err)
	for _, reason := range reasons {
		if lost != nil && lost.Reason == reason {
			return
		}
	}
	t.Fatalf("error %v: want a loss by %q", err, reasons)
}

// within fails if something took longer than it may on a busy machine.
func within(t testing.TB, what string, took, allowed time.Duration) {
	t.Helper()
	if took > allowed+slack {
		t.Errorf("%s took %v, want at most %v", what, took.Round(time.Millisecond), allowed)
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// closes waits for a channel to be closed, for at most d and slack.
func closes(t testing.TB, what string, c <-chan struct{}, d time.Duration) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(d + slack):
		t.Fatalf("%s: not within %v", what, d)
	}
}

// awaitWaiters waits until n stand in line for a lock.
func awaitWaiters(t testing.TB, c *fencehold.Client, name string, n int) {
	t.Helper()
	eventually(t, "the waiters stand in line", func() bool { return inspect(t, c, name).Waiting == n })
}

// inspect looks at a lock.
func inspect(t testing.TB, c *fencehold.Client, name string) fencehold.Holding {
	t.Helper()
	holding, err := c.Inspect(bounded(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return holding
}

// rounds returns n, or a tenth of it outside of the full conformance run.
func rounds(n int) int {
	if os.Getenv("FENCEHOLD_CONFORMANCE") == "full" {
		return n
	}
	return max(1, n/10)
}

// exists returns how many of some keys a server has.
func exists(server *testcluster.Redis, keys ...string) string {
	return server.Do(append([]string{"EXISTS"}, keys...)...)
}

// pttl returns the time that a key has left: negative if it has no end, or is
// none.
func pttl(t testing.TB, server *testcluster.Redis, key string) time.Duration {
	t.Helper()
	ms, err := strconv.Atoi(server.Do("PTTL", key))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ms) * time.Millisecond
}
