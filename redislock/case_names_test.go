package redislock_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

func TestB56ForeignData(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	bare, prefixed := openClient(t, server.URL()+"?prefix="), openClient(t, server.URL())
	for _, row := range []struct {
		kind        string
		write, read []string
	}{
		{"string", []string{"SET", "string", "precious"}, []string{"GET", "string"}},
		{"list", []string{"RPUSH", "list", "precious", "things"}, []string{"LRANGE", "list", "0", "-1"}},
		{"hash", []string{"HSET", "hash", "precious", "1"}, []string{"HGETALL", "hash"}},
	} {
		server.Do(row.write...)
		content := server.Do(row.read...)
		began := time.Now()
		_, err := bare.Mutex(row.kind, fencehold.WithMaxWait(500*time.Millisecond)).Acquire(bounded(t))
		mustBe(t, err, fencehold.ErrHeld)
		within(t, "the refusal", time.Since(began), 700*time.Millisecond)
		if text := err.Error(); !strings.Contains(text, "not fencehold's") && !strings.Contains(text, "another format") {
			t.Errorf("%s: error %q does not say that this is no lock", row.kind, text)
		}
		mustBe(t, bare.Unlock(bounded(t), row.kind, driver.NewHolder(), "not mine"), fencehold.ErrLost)
		_, err = bare.Resume(bounded(t), fencehold.Fence{Name: row.kind, Holder: driver.NewHolder()})
		mustBe(t, err, fencehold.ErrLost)
		if now := server.Do(row.read...); now != content || server.Do("TTL", row.kind) != "-1" {
			t.Errorf("%s: the content became %q, was %q", row.kind, now, content)
		}
		release(t, acquire(t, prefixed, row.kind))
	}
}

// Who has the lock is known, though the last question has no answer.
func TestB56WaitEndsDuringACheck(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	server.Do("SET", "lock:job", "one of redis-py", "PX", "60000")
	hold := p.HoldRequests("\r\ncheck\r\n")
	next := startAcquire(t, p.client(t, fencehold.WithMaxWait(500*time.Millisecond)), "job")
	closes(t, "a check is held", hold.Seen(), 500*time.Millisecond)
	mustBe(t, next.fails(t), fencehold.ErrHeld)
	within(t, "the wait", next.took, 500*time.Millisecond)
	hold.Release()
}

// oddNames are all different, and all of them names.
var oddNames = []string{
	" ", "a", " a", "a ", "A", "x/y", "../../x", ".", "e\u0301", "\u00e9", "日本語", `"`, `'\`, "*", "[a]", "a?",
	"c", "q", "n:c", "fh!", "fh!c", "fh!q:a", "fh!p:a", "fh!x:a", "fh!n:fh!c", "fh!n:a", "fh!i:a:b", "fh!c{0000}",
	"{", "}", "{}", "{a}", "{a}b", "a{b}c", "}{", "{a", "a}", "{a}{b}", "{{a}}", "{}{a}", "{fh!c}", "lock:a",
	strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 255),
	strings.Repeat("x", 256), strings.Repeat("y", 299) + "1", strings.Repeat("y", 299) + "2", strings.Repeat("é", 256),
}

func TestB57OddNames(t *testing.T) {
	t.Parallel()
	testOddNames(t, testcluster.StartRedis(t).URL())
	testOddNames(t, testcluster.StartRedis(t).URL()+"?prefix=")
}

func TestB57OddNamesInACluster(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 3, 0)
	testOddNames(t, cluster.URL())
	testOddNames(t, cluster.URL()+"?prefix={app}:")
}

// testOddNames holds all names at once, with somebody waiting for each.
func testOddNames(t *testing.T, url string) {
	t.Helper()
	a, b := openClient(t, url), openClient(t, url)
	leases := map[string]*fencehold.Lease{}
	waits := map[string]*acquiring{}
	for _, name := range oddNames {
		lease, err := a.Mutex(name).TryAcquire(bounded(t))
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		leases[name], waits[name] = lease, startAcquire(t, b, name)
	}
	for _, name := range oddNames {
		awaitWaiters(t, a, name, 1)
		if h := inspect(t, b, name); h.Holder != leases[name].Fence().Holder {
			t.Errorf("%q is held by %q", name, h.Holder)
		}
	}
	listed := map[string]int{}
	for holding, err := range a.Locks(bounded(t), "") {
		if err != nil {
			t.Fatal(err)
		}
		listed[holding.Name]++
	}
	if len(listed) != len(oddNames) {
		t.Errorf("%d names are listed, want %d: %q", len(listed), len(oddNames), slices.Sorted(maps.Keys(listed)))
	}
	for _, name := range oddNames {
		if listed[name] != 1 {
			t.Errorf("%q is listed %d times", name, listed[name])
		}
		release(t, leases[name])
		release(t, waits[name].lease(t))
	}
}

func TestB57NamesRefused(t *testing.T) {
	t.Parallel()
	p := newTap(t, testcluster.StartRedis(t))
	client := p.client(t)
	for _, name := range []string{
		"", "new\nline", "nul\x00", "bad\xff", "\x7f", strings.Repeat("x", 513), strings.Repeat("x", 1024),
		strings.Repeat("x", 10_000),
	} {
		_, err := client.Mutex(name).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrInvalid)
		_, err = client.Inspect(bounded(t), name)
		mustBe(t, err, fencehold.ErrInvalid)
	}
	if n := p.count(""); n != 0 {
		t.Errorf("%d requests for names that are refused", n)
	}
}
