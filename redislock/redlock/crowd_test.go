package redlock_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold/fence"
)

// 64 clients wait for the same lock: all are served, and none waits much longer than
// the others.
func TestCrowd(t *testing.T) {
	s := startSet(t, 3)
	const waiters = 64
	lease := acquire(t, s.peer(t).Client, job)
	var mu sync.Mutex
	var times []time.Duration
	var last fence.Token
	var work sync.WaitGroup
	var began time.Time
	for range waiters {
		client := s.client(t, time.Minute)
		work.Go(func() {
			lease, err := client.Mutex(job).Acquire(bounded(t))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			if lease.Token() <= last {
				t.Errorf("token %v after %v", lease.Token(), last)
			}
			last = lease.Token()
			times = append(times, time.Since(began))
			mu.Unlock()
			if err := lease.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	s.inLine(t, strconv.Itoa(waiters))
	mu.Lock()
	began = time.Now()
	mu.Unlock()
	release(t, lease)
	work.Wait()
	var sum, longest time.Duration
	for _, d := range times {
		sum, longest = sum+d, max(longest, d)
	}
	if mean := sum / waiters; longest > 20*mean {
		t.Errorf("the longest wait was %v, the mean %v", longest, mean)
	}
	t.Logf("mean %v, longest %v", sum/waiters, longest)
}

// Attempts that failed leave no key.
func TestFailedAttemptsLeaveNothing(t *testing.T) {
	s := startSet(t, 3)
	var work sync.WaitGroup
	var failed sync.Map
	attempts := rounds(1000)
	for i := range 4 {
		client := s.peer(t).Client
		work.Go(func() {
			for j := range attempts / 4 {
				lease, err := client.Mutex(job).TryAcquire(bounded(t))
				if err == nil {
					_ = lease.Release(context.Background())
					continue
				}
				failed.Store([2]int{i, j}, true)
			}
		})
	}
	work.Wait()
	start := time.Now()
	s.free(t)
	within(t, "giving back what failed attempts got", time.Since(start), time.Second)
	n := 0
	failed.Range(func(any, any) bool { n++; return true })
	if n == 0 {
		t.Error("no attempt failed")
	}
	for _, server := range s {
		for _, key := range []string{jobKey, line} {
			if server.Do("EXISTS", key) != "0" {
				t.Errorf("key %s stays", key)
			}
		}
	}
}
