package peer

import (
	"context"
	"testing"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// TestExclusion has one client of each library wait for another one: what is
// measured has to be a lock.
func TestExclusion(t *testing.T) {
	for _, library := range append([]Library{BLPop}, Locks...) {
		t.Run(library.Name, func(t *testing.T) {
			server := testcluster.StartRedis(t)
			holder, waiter := open(t, library, server), open(t, library, server)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			release, err := holder.Acquire(ctx, "job")
			if err != nil {
				t.Fatal(err)
			}
			granted := make(chan error, 1)
			go func() {
				release, err := waiter.Acquire(ctx, "job")
				if err == nil {
					err = release()
				}
				granted <- err
			}()
			select {
			case err := <-granted:
				t.Fatalf("Acquire returned %v while another client has the lock", err)
			case <-time.After(300 * time.Millisecond): // several attempts of those that poll
			}
			if err := release(); err != nil {
				t.Fatal(err)
			}
			if err := <-granted; err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestWaiting compares what the server says with who waits.
func TestWaiting(t *testing.T) {
	for _, library := range []Library{BLPop, Fencehold} {
		t.Run(library.Name, func(t *testing.T) {
			server := testcluster.StartRedis(t)
			waiting := func() int {
				return library.Waiting(func(command ...string) string { return server.Do(command...) }, "job")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			release, err := open(t, library, server).Acquire(ctx, "job")
			if err != nil || waiting() != 0 {
				t.Fatalf("%d wait for a lock that was free, %v", waiting(), err)
			}
			waiter, done := open(t, library, server), make(chan error, 1)
			go func() {
				_, err := waiter.Acquire(ctx, "job")
				done <- err
			}()
			for waiting() != 1 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if err := release(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil || waiting() != 0 {
				t.Errorf("%d wait in the end, %v", waiting(), err)
			}
		})
	}
}

// open opens a client that is closed with the test.
func open(t *testing.T, library Library, server *testcluster.Redis) Client {
	t.Helper()
	client, err := library.Open(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
