package interop

import (
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// TestLockWithoutExpiry meets a lock of redis-py that never runs out: it is
// reported and left alone, and its release is noticed.
func TestLockWithoutExpiry(t *testing.T) {
	server := testcluster.StartRedis(t)
	s, client := newPython(t, server), newFencehold(t, server, nil)
	if ok, err := s.try("lock:job", 0); !ok || err != nil {
		t.Fatalf("attempt of redis-py: %t, %v", ok, err)
	}
	value := server.Do("GET", "lock:job")
	if report := held(t, client, "job"); !strings.Contains(report.Error(), "without expiry") {
		t.Errorf("reported as %q; want that it has no expiry", report)
	}
	if h := inspect(t, client, "job"); !h.Held || !h.Foreign || h.TTL != 0 {
		t.Errorf("Inspect shows %+v; want a foreign lock without expiry", h)
	}
	granted := make(chan struct{})
	go func() {
		defer close(granted)
		waitForTurn(t, client)
	}()
	until(t, "a waiter", func() bool { return inspect(t, client, "job").Waiting == 1 })
	select {
	case <-granted:
		t.Fatal("granted while redis-py holds the lock")
	case <-time.After(300 * time.Millisecond): // some ten looks of the waiter
	}
	if left := server.Do("PTTL", "lock:job"); left != "-1" || server.Do("GET", "lock:job") != value {
		t.Fatalf("the lock of redis-py was changed; PTTL %s", left)
	}
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-granted:
	case <-time.After(patience):
		t.Fatal("the release was not noticed")
	}
}
