//go:build unix

package redislock_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

func TestB72TokensAfterALoss(t *testing.T) {
	t.Parallel()
	store := testcluster.StartRedis(t) // what the lock protects is elsewhere
	for name, lose := range map[string]func(*testcluster.Redis){
		"FLUSHALL":            func(r *testcluster.Redis) { r.Do("FLUSHALL") },
		"restart":             (*testcluster.Redis).Restart,
		"counter is deleted":  func(r *testcluster.Redis) { r.Do("DEL", counterKey, "lock:job") },
		"counter is set back": func(r *testcluster.Redis) { r.Do("SET", counterKey, "1"); r.Do("DEL", "lock:job") },
	} {
		t.Run(name, func(t *testing.T) {
			server := testcluster.StartRedis(t)
			store.Do("FLUSHALL")
			a := acquire(t, openClient(t, server.URL()), "job")
			mustWrite(t, store, int64(a.Token()), "A", "ok")
			lose(server)
			b := acquire(t, openClient(t, server.URL()), "job")
			if b.Token() <= a.Token() {
				t.Errorf("token %v after %v", b.Token(), a.Token())
			}
			mustWrite(t, store, int64(b.Token()), "B", "ok")
			mustWrite(t, store, int64(a.Token()), "late", "stale")
		})
	}
}

// Half of the locks are released, and half of them expire.
func TestB72MemoryDoesNotGrowWithNames(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	client := openClient(t, server.URL(), fencehold.WithTTL(time.Second), fencehold.WithoutRenewal())
	names, workers := 10_000, 32
	if rounds(10) == 10 {
		names = 200_000
	}
	var first fencehold.Token
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < names; i += workers {
				lease, err := client.Mutex(fmt.Sprint("job", i)).Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if i == 0 {
					first = lease.Token()
				}
				if i%2 == 0 {
					_ = lease.Release(t.Context())
				}
			}
		})
	}
	all.Wait()
	ended := time.Now()
	eventually(t, "what is left is a handful", func() bool {
		left, err := strconv.Atoi(server.Do("DBSIZE"))
		return err == nil && left <= 3
	})
	within(t, "forgetting", time.Since(ended), 3*time.Second)
	if again := acquire(t, client, "job0"); again.Token() <= first {
		t.Errorf("token %v after %v", again.Token(), first)
	}
}
