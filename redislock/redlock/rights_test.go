package redlock_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// documentedRights are those of the user that package redislock documents, and the
// one that package redlock adds.
func documentedRights(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(source), "ACL SETUSER locks on >PASSWORD ")
	text, _, ended := strings.Cut(rest, "\n//\n")
	if !found || !ended {
		t.Fatal("no user is documented")
	}
	return append(strings.Fields(strings.ReplaceAll(text, "//", " ")), "+info")
}

// TestRightsSufficeForASet: whatever a client can do, nothing of it is refused.
func TestRightsSufficeForASet(t *testing.T) {
	t.Parallel()
	const maxTTL = 5 * time.Second
	s := startSet(t, 3)
	for _, r := range s {
		r.Do(append([]string{"ACL", "SETUSER", "app", "on", ">secret"}, documentedRights(t)...)...)
		r.Do("ACL", "LOG", "RESET")
	}
	url := strings.Replace(s.url(maxTTL), "://", "://app:secret@", 1)
	a, b := openURL(t, url, maxTTL), openURL(t, url, maxTTL)
	lease, err := a.Mutex("job").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan *fencehold.Lease)
	go func() {
		waited, err := b.Mutex("job").Acquire(t.Context())
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		next <- waited
	}()
	eventually(t, "a waiter", func() bool { return s[0].Do("ZCARD", "lock:fh!r:job") == "1" })
	if err := lease.Extend(t.Context(), maxTTL); err != nil {
		t.Error(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	got := <-next
	if got == nil {
		t.FailNow()
	}
	listed := 0
	for holding, err := range a.Locks(t.Context(), "") {
		if err != nil || !holding.Held {
			t.Errorf("listed: %+v, %v", holding, err)
		}
		listed++
	}
	if listed != 1 {
		t.Errorf("%d locks are listed, want 1", listed)
	}
	s.everywhere(t, got)
	s[1].Do("FLUSHDB")
	cycle(t, a, "notices")
	set, err := redlock.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := redlock.Repair(t.Context(), set, redlock.RepairOptions{}); err != nil {
		t.Error(err)
	}
	if err := a.Unlock(t.Context(), "job", got.Fence().Holder, "test"); err != nil {
		t.Error(err)
	}
	<-got.Done()
	for _, r := range s {
		if log := r.Do("ACL", "LOG"); log != "" {
			t.Errorf("refused: %s", strings.ReplaceAll(log, "\n", " "))
		}
	}
}

// openURL opens a client that is closed with the test.
func openURL(t *testing.T, url string, ttl time.Duration) *fencehold.Client {
	t.Helper()
	c, err := fencehold.Open(t.Context(), url, fencehold.WithTTL(ttl))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
