package peer

import (
	"context"
	"testing"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// each runs a test for libraries on one server, and for others on a set of three.
func each(t *testing.T, single, set []Library, test func(t *testing.T, library Library, servers []*testcluster.Redis)) {
	for where, libraries := range map[string][]Library{"server": single, "set": set} {
		for _, library := range libraries {
			t.Run(where+"/"+library.Name, func(t *testing.T) {
				servers := []*testcluster.Redis{testcluster.StartRedis(t)}
				for where == "set" && len(servers) < 3 {
					servers = append(servers, testcluster.StartRedis(t))
				}
				test(t, library, servers)
			})
		}
	}
}

// TestExclusion has one client of each library wait for another one: what is
// measured has to be a lock.
func TestExclusion(t *testing.T) {
	single := append([]Library{BLPop}, Locks...)
	each(t, single, SetLocks, func(t *testing.T, library Library, servers []*testcluster.Redis) {
		holder, waiter := open(t, library, servers), open(t, library, servers)
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

// TestAttempt makes attempts for a lock while another client has it, and after.
func TestAttempt(t *testing.T) {
	each(t, nil, SetLocks, func(t *testing.T, library Library, servers []*testcluster.Redis) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		release, err := open(t, library, servers).Acquire(ctx, "job")
		if err != nil {
			t.Fatal(err)
		}
		attempter := open(t, library, servers).(Attempter)
		if got, err := attempter.Attempt(ctx, "job"); got || err != nil {
			t.Errorf("Attempt for a lock that is held returned %t, %v", got, err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
		if got, err := attempter.Attempt(ctx, "job"); !got || err != nil {
			t.Errorf("Attempt for a free lock returned %t, %v", got, err)
		}
	})
}

// TestWaiting compares what the servers say with who waits.
func TestWaiting(t *testing.T) {
	single, set := []Library{BLPop, Fencehold}, []Library{Redlock}
	each(t, single, set, func(t *testing.T, library Library, servers []*testcluster.Redis) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		waiting := func(want int) {
			for _, server := range servers {
				ask := func(command ...string) string { return server.Do(command...) }
				for library.Waiting(ask, "job") != want && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
			}
			if ctx.Err() != nil {
				t.Fatalf("the servers never say that %d wait", want)
			}
		}
		release, err := open(t, library, servers).Acquire(ctx, "job")
		if err != nil {
			t.Fatal(err)
		}
		waiting(0)
		waiter, done := open(t, library, servers), make(chan error, 1)
		go func() {
			_, err := waiter.Acquire(ctx, "job")
			done <- err
		}()
		waiting(1)
		if err := release(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		waiting(0)
	})
}

// open opens a client that is closed with the test.
func open(t *testing.T, library Library, servers []*testcluster.Redis) Client {
	t.Helper()
	var addrs []string
	for _, server := range servers {
		addrs = append(addrs, server.Addr())
	}
	client, err := library.Open(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
