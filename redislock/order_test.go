package redislock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// The place in line is the client's: who gives up leaves it to the next one
// there, and not to those who came later elsewhere.
func TestPlaceStaysWithTheClient(t *testing.T) {
	url := testcluster.StartRedis(t).URL()
	here, there := openBackend(t, url), openBackend(t, url)
	defer here.Close()
	defer there.Close()
	held := driver.Request{Name: "job", Holder: driver.NewHolder(), Owner: "holder", TTL: time.Minute}
	grant, err := there.TryAcquire(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	impatient, giveUp := context.WithCancel(t.Context())
	first := wait(impatient, here, "impatient")
	inLine(t, there, "impatient")
	other := wait(t.Context(), there, "other")
	inLine(t, there, "impatient", "other")
	giveUp()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	patient := wait(t.Context(), here, "patient")
	inLineEither(t, there, []string{"impatient", "patient", "other"}, []string{"patient", "impatient", "other"})
	if err := there.Release(t.Context(), grant, 0); err != nil {
		t.Fatal(err)
	}
	// The entry of the one who gave up is the core's to remove: its grant is
	// returned, and the next in line is the same client's.
	if err := <-patient; err != nil {
		t.Fatal(err)
	}
	if err := <-other; err != nil {
		t.Fatal(err)
	}
}

// wait acquires the lock "job", and releases it.
func wait(ctx context.Context, backend driver.Backend, owner string) <-chan error {
	done := make(chan error, 1)
	go func() {
		req := driver.Request{Name: "job", Holder: driver.NewHolder(), Owner: owner, TTL: time.Minute}
		grant, err := backend.(driver.Queuer).Acquire(ctx, req)
		if err == nil {
			err = backend.Release(context.Background(), grant, 0)
		}
		done <- err
	}()
	return done
}

// inLine waits until these stand in line, in this order.
func inLine(t *testing.T, backend driver.Backend, owners ...string) {
	t.Helper()
	inLineEither(t, backend, owners)
}

// inLineEither waits until the line is one of these.
func inLineEither(t *testing.T, backend driver.Backend, lines ...[]string) {
	t.Helper()
	var seen []string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		holding, err := backend.(driver.Inspector).Inspect(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		seen = nil
		for _, w := range holding.Waiters {
			seen = append(seen, w.Owner)
		}
		if slices.ContainsFunc(lines, func(line []string) bool { return slices.Equal(line, seen) }) {
			return
		}
	}
	t.Fatalf("in line are %q, want one of %q", seen, lines)
}
