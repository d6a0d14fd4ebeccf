package interop

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// noticeLimit is how soon after a stranger's release the front of the line has
// the lock, in 99 of 100 cases.
const noticeLimit = 60 * time.Millisecond

// TestReleaseIsNoticed measures how soon the front of a line has a lock that a
// stranger released, without a word to anybody.
func TestReleaseIsNoticed(t *testing.T) {
	server := testcluster.StartRedis(t)
	s := newBSM(t, server)
	clients := make([]*fencehold.Client, 3)
	for i := range clients {
		clients[i] = newFencehold(t, server, nil)
	}
	releases := 50
	if full() {
		releases = 200
	}
	var delays []time.Duration
	late := 0
	for range releases {
		delays = append(delays, noticed(t, s, clients))
		if delays[len(delays)-1] > noticeLimit {
			late++
		}
	}
	slices.Sort(delays)
	t.Logf("median %v, longest %v", delays[releases/2], delays[releases-1])
	if allowed := (releases + 99) / 100; late > allowed {
		t.Errorf("%d of %d releases were noticed later than %v, longest %v; want %d at most",
			late, releases, noticeLimit, delays[releases-1], allowed)
	}
}

// noticed lets all clients wait for a lock of s, and returns the time from the
// call of its release to the first grant.
func noticed(t *testing.T, s stranger, clients []*fencehold.Client) time.Duration {
	t.Helper()
	mustTry(t, s, "lock:job", true)
	granted := make(chan time.Time, len(clients))
	for _, client := range clients {
		go func() { granted <- waitForTurn(t, client) }()
	}
	until(t, "all in line", func() bool { return inspect(t, clients[0], "job").Waiting == len(clients) })
	released := time.Now()
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
	first := <-granted
	for range len(clients) - 1 {
		if at := <-granted; at.Before(first) {
			first = at
		}
	}
	until(t, "the last release", func() bool { return !inspect(t, clients[0], "job").Held })
	return first.Sub(released)
}

// TestOnlyFrontPolls counts the requests of eight clients that wait for a
// stranger: one of them looks every 20 to 40 ms, the others only show that
// they live, once a second at most.
func TestOnlyFrontPolls(t *testing.T) {
	server := testcluster.StartRedis(t)
	s := newBSM(t, server)
	mustTry(t, s, "lock:job", true)
	const waiters = 8
	done := make(chan time.Time, waiters)
	var looking *fencehold.Client
	for range waiters {
		client := newFencehold(t, server, nil)
		looking = client
		go func() { done <- waitForTurn(t, client) }()
	}
	until(t, "all in line", func() bool { return inspect(t, looking, "job").Waiting == waiters })
	const watched = 2 * time.Second
	before := scripts(t, server)
	time.Sleep(watched)
	sent := scripts(t, server) - before
	t.Logf("%d requests in %v", sent, watched)
	// 100 looks of the front, and three signs of life of everybody.
	if limit := int(watched/(20*time.Millisecond)) + 3*waiters; sent > limit || sent < 2*waiters {
		t.Errorf("%d requests of %d waiters in %v; want %d at most", sent, waiters, watched, limit)
	}
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
	for range waiters {
		<-done
	}
}

// scripts returns how many scripts clients have asked the server to run.
func scripts(t *testing.T, server *testcluster.Redis) int {
	t.Helper()
	sum := 0
	for line := range strings.Lines(server.Do("INFO", "commandstats")) {
		name, rest, _ := strings.Cut(line, ":calls=")
		if name != "cmdstat_evalsha" && name != "cmdstat_eval" {
			continue
		}
		calls, _, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(calls)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
