package interop

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// full tells whether the long form of the tests was asked for.
func full() bool { return os.Getenv("FENCEHOLD_CONFORMANCE") == "full" }

// newRueidis returns a client that is closed with the test.
func newRueidis(tb testing.TB, server *testcluster.Redis) rueidis.Client {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableCache: true, DisableRetry: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

// newFencehold returns a client with connections of its own.
func newFencehold(tb testing.TB, server *testcluster.Redis, opts *redislock.Options) *fencehold.Client {
	tb.Helper()
	backend, err := redislock.New(newRueidis(tb, server), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return clientOn(tb, backend)
}

// newRedlock returns a client on a set of servers, with connections of its own.
func newRedlock(tb testing.TB, servers []*testcluster.Redis, opts *redlock.Options) *fencehold.Client {
	tb.Helper()
	var clients []rueidis.Client
	for _, server := range servers {
		clients = append(clients, newRueidis(tb, server))
	}
	backend, err := redlock.New(clients, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return clientOn(tb, backend)
}

func clientOn(tb testing.TB, backend driver.Backend) *fencehold.Client {
	tb.Helper()
	client, err := fencehold.New(backend, fencehold.WithTTL(lockTTL))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// patience bounds what a test waits for.
const patience = 30 * time.Second

// until repeats check until it is true.
func until(t *testing.T, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !check(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// acquire waits for the lock.
func acquire(t *testing.T, client *fencehold.Client, name string) *fencehold.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := client.Mutex(name).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// waitForTurn waits for the lock "job" and releases it, in any goroutine. It
// returns when it was granted.
func waitForTurn(t *testing.T, client *fencehold.Client) time.Time {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := client.Mutex("job").Acquire(ctx)
	granted := time.Now()
	if err == nil {
		err = lease.Release(ctx)
	}
	if err != nil {
		t.Error(err)
	}
	return granted
}

// held makes one attempt that has to find the lock held.
func held(t *testing.T, client *fencehold.Client, name string) *fencehold.HeldError {
	t.Helper()
	lease, err := client.Mutex(name).TryAcquire(t.Context())
	report, ok := errors.AsType[*fencehold.HeldError](err)
	if !ok {
		t.Fatalf("TryAcquire returned %v, %v; want that the lock is held", lease, err)
	}
	return report
}

// inspect looks at a lock.
func inspect(t *testing.T, client *fencehold.Client, name string) fencehold.Holding {
	t.Helper()
	holding, err := client.Inspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return holding
}
