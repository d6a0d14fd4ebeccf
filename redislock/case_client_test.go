//go:build unix

package redislock_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

func TestB80UnlockExactlyOne(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	client := openClient(t, server.URL(), fencehold.WithOwner("operator"))
	dead := startChild(t, "hold", server.URL(), "job", "10m")
	dead.line("held")
	dead.kill()
	host, _ := os.Hostname()
	h := inspect(t, client, "job")
	if h.Host != host || h.PID != dead.cmd.Process.Pid || h.TTL <= 0 || h.TTL > 10*time.Minute || h.Since.IsZero() {
		t.Errorf("the dead holder is shown as %+v", h)
	}
	mustBe(t, client.Unlock(bounded(t), "job", driver.NewHolder(), "wrong id"), fencehold.ErrLost)
	if again := inspect(t, client, "job"); again.Holder != h.Holder {
		t.Errorf("a wrong id changed the holder to %q", again.Holder)
	}
	if err := client.Unlock(bounded(t), "job", h.Holder, "it is dead"); err != nil || exists(server, "lock:job") != "0" {
		t.Errorf("unlock: %v, lock %q", err, server.Do("GET", "lock:job"))
	}
	mustBe(t, client.Unlock(bounded(t), "job", h.Holder, "again"), fencehold.ErrLost)
	b := acquire(t, openClient(t, server.URL()), "job")
	value := server.Do("GET", "lock:job")
	mustBe(t, client.Unlock(bounded(t), "job", h.Holder, "too late"), fencehold.ErrLost)
	if now := server.Do("GET", "lock:job"); now != value || !b.Valid() {
		t.Errorf("the value became %q, was %q; the lease: %v", now, value, b.Err())
	}
	release(t, b)
}

func TestB80UnlockAForeignLock(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	client := openClient(t, server.URL())
	server.Do("SET", "lock:job", "one of redis-py", "PX", "60000")
	h := inspect(t, client, "job")
	if !h.Held || !h.Foreign || h.Holder == "" {
		t.Fatalf("a foreign lock is shown as %+v", h)
	}
	server.Do("SET", "lock:job", "the next one", "PX", "60000")
	mustBe(t, client.Unlock(bounded(t), "job", h.Holder, "of the one before"), fencehold.ErrLost)
	if now := server.Do("GET", "lock:job"); now != "the next one" {
		t.Errorf("the value became %q", now)
	}
	if err := client.Unlock(bounded(t), "job", inspect(t, client, "job").Holder, "stuck"); err != nil {
		t.Error(err)
	}
	release(t, acquire(t, client, "job"))
}

func TestB87SameClientTwice(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	client := openClient(t, server.URL(), fencehold.WithTTL(2*time.Second))
	lease := acquire(t, client, "job")
	began := time.Now()
	_, err := client.Mutex("job", fencehold.WithMaxWait(0)).Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	within(t, "one attempt", time.Since(began), 0)
	began = time.Now()
	_, err = client.Mutex("job", fencehold.WithMaxWait(500*time.Millisecond)).Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrHeld)
	within(t, "a wait of 500ms", time.Since(began), 500*time.Millisecond)
	release(t, lease)
	release(t, acquire(t, openClient(t, server.URL(), fencehold.WithMaxWait(0)), "job"))
}

func TestB87GoroutinesOfOneClient(t *testing.T) {
	t.Parallel()
	client := openClient(t, testcluster.StartRedis(t).URL(), fencehold.WithTTL(2*time.Second))
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			err := client.Mutex("job").Do(t.Context(), func(context.Context) error {
				defer inside.Add(-1)
				if n := inside.Add(1); n != 1 {
					return fmt.Errorf("%d at once", n)
				}
				runtime.Gosched()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestB88BadConstruction(t *testing.T) {
	t.Parallel()
	_, err := redislock.New(nil, nil)
	mustBe(t, err, fencehold.ErrInvalid)
	_, err = redislock.NewConn(nil, nil)
	mustBe(t, err, fencehold.ErrInvalid)
	_, err = fencehold.New(nil)
	mustBe(t, err, fencehold.ErrInvalid)
	for _, url := range []string{"", "redis:", "redis://", "redis+cluster://", "redis+sentinel:///mymaster", "redis+cluster://,"} {
		_, err := fencehold.Open(t.Context(), url)
		mustBe(t, err, fencehold.ErrInvalid)
	}
}

// Not parallel: it counts what the process has.
func TestB88NothingIsLeft(t *testing.T) {
	server := testcluster.StartRedis(t)
	connections := func() int { return len(strings.Split(server.Do("CLIENT", "LIST"), "\n")) }
	goroutines, connected := runtime.NumGoroutine(), connections()
	client := openClient(t, server.URL(), fencehold.WithTTL(time.Second))
	lead(t, server, client, 20)
	heap := heapInUse()
	lead(t, server, client, rounds(10_000))
	if grown := heapInUse() - heap; grown > 2<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	var leases []*fencehold.Lease
	for i := range 3 {
		leases = append(leases, acquire(t, client, fmt.Sprint("closed", i)))
	}
	closed := time.Now()
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	for _, lease := range leases {
		closes(t, "the loss signal", lease.Done(), 0)
		mustBeLost(t, lease.Err(), fencehold.ReasonClosed)
	}
	_, err := client.Mutex("job").Acquire(bounded(t))
	mustBe(t, err, fencehold.ErrClosed)
	_, err = client.Inspect(bounded(t), "job")
	mustBe(t, err, fencehold.ErrClosed)
	eventually(t, "the locks are free", func() bool { return exists(server, "lock:closed0", "lock:closed1", "lock:closed2") == "0" })
	within(t, "freeing the locks", time.Since(closed), time.Second)
	eventually(t, "the connections are gone", func() bool { return connections() <= connected })
	eventually(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	within(t, "ending", time.Since(closed), time.Second)
}

// lead has a client acquire and release n names, and be timed out, cancelled
// and robbed a fiftieth of that, which is 200 times at the most.
func lead(t *testing.T, server *testcluster.Redis, client *fencehold.Client, n int) {
	t.Helper()
	// One context for all: the test must not keep what it counts.
	all := bounded(t)
	for i := range n {
		name := fmt.Sprint("job", i)
		lease, err := client.Mutex(name).Acquire(all)
		if err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			_, err := client.Mutex(name, fencehold.WithMaxWait(30*time.Millisecond)).Acquire(all)
			mustBe(t, err, fencehold.ErrHeld)
			ctx, cancel := context.WithCancel(all)
			timer := time.AfterFunc(10*time.Millisecond, cancel)
			_, err = client.Mutex(name).Acquire(ctx)
			mustBe(t, err, context.Canceled)
			timer.Stop()
			server.Do("DEL", "lock:"+name)
			mustBe(t, lease.Extend(all, time.Second), fencehold.ErrLost)
			continue
		}
		if err := lease.Release(all); err != nil {
			t.Fatal(err)
		}
	}
}

// heapInUse returns the bytes that are left after a collection.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
