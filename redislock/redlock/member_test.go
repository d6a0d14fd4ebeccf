package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// A set is some servers that keep nothing on disk: a restart empties them.
type set []*testcluster.Redis

func startSet(t *testing.T, n int) set {
	t.Helper()
	s := make(set, n)
	for i := range s {
		s[i] = testcluster.StartRedis(t)
	}
	return s
}

// url names the set.
func (s set) url(maxTTL time.Duration) string {
	addrs := make([]string, len(s))
	for i, r := range s {
		addrs[i] = r.Addr()
	}
	return fmt.Sprintf("redlock://%s?max_ttl=%v", strings.Join(addrs, ","), maxTTL)
}

// client opens a client of its own, with the longest TTL by default.
func (s set) client(t *testing.T, maxTTL time.Duration, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	opts = append([]fencehold.Option{fencehold.WithTTL(maxTTL)}, opts...)
	c, err := fencehold.Open(t.Context(), s.url(maxTTL), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// votes reports whether a server is a member.
func votes(r *testcluster.Redis) bool { return r.Do("EXISTS", "lock:fh!m") == "1" }

// eventually polls for what has to come about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// cycle takes a lock and gives it back.
func cycle(t *testing.T, c *fencehold.Client, name string) fencehold.Token {
	t.Helper()
	lease, err := c.Mutex(name).TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token := lease.Token()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return token
}

// repair mends the set as the command does.
func (s set) repair(t *testing.T, maxTTL time.Duration, opts redlock.RepairOptions) error {
	t.Helper()
	b, err := redlock.Open(t.Context(), s.url(maxTTL))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	return redlock.Repair(t.Context(), b, opts)
}

// TestEmptiedMinority: whichever servers of a minority come back empty, they do not
// vote before the longest TTL is over, tokens rise all the while, and then they vote
// again.
func TestEmptiedMinority(t *testing.T) {
	t.Parallel()
	const maxTTL = 1500 * time.Millisecond
	for _, lost := range [][]int{{0}, {4}, {1, 3}} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			t.Parallel()
			s := startSet(t, 5)
			c := s.client(t, maxTTL)
			last := cycle(t, c, "job")
			for _, i := range lost {
				s[i].Restart()
			}
			emptied := time.Now()
			for _, i := range lost {
				for !votes(s[i]) {
					token := cycle(t, c, "job")
					if token <= last {
						t.Fatalf("token %v after %v", token, last)
					}
					last = token
					if time.Since(emptied) > 20*time.Second {
						t.Fatal("it never votes again")
					}
				}
				if d := time.Since(emptied); d < maxTTL {
					t.Errorf("server %d votes after %v", i, d)
				}
			}
			if token := cycle(t, s.client(t, maxTTL), "job"); token <= last {
				t.Errorf("token %v after %v", token, last)
			}
		})
	}
}

// bare gives a holder the lock on the servers from first on alone, which are a bare
// majority: the others are made to lose it.
func (s set) bare(t *testing.T, c *fencehold.Client, name string, first int) *fencehold.Lease {
	t.Helper()
	lease, err := c.Mutex(name).TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lock on all servers", func() bool {
		spare, ok := lease.Redundancy()
		return ok && spare == first
	})
	for _, r := range s[:first] {
		r.Do("DEL", "lock:"+name)
	}
	return lease
}

// mustStay fails if somebody else gets the lock while the lease is valid.
func mustStay(t *testing.T, other *fencehold.Client, lease *fencehold.Lease, until time.Time) {
	t.Helper()
	for time.Now().Before(until) && lease.Valid() {
		second, err := other.Mutex(lease.Name()).TryAcquire(t.Context())
		if err == nil && lease.Valid() {
			t.Fatalf("granted twice: tokens %v and %v", lease.Token(), second.Token())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestForgottenVote: a bare majority of which one server forgets its vote is not
// outvoted, neither while that waits nor after a repair.
func TestForgottenVote(t *testing.T) {
	t.Parallel()
	const maxTTL = 8 * time.Second
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := startSet(t, n)
			c, other := s.client(t, maxTTL), s.client(t, maxTTL)
			cycle(t, c, "warm")
			cycle(t, other, "warm")
			// Without renewal, nobody puts back what was forgotten.
			lease := s.bare(t, s.client(t, maxTTL, fencehold.WithoutRenewal()), "job", n/2)
			s[n-1].Do("FLUSHALL")
			mustStay(t, other, lease, time.Now().Add(time.Second))
			if err := s.repair(t, maxTTL, redlock.RepairOptions{}); err != nil {
				t.Fatal(err)
			}
			if !votes(s[n-1]) || !lease.Valid() {
				t.Fatalf("votes: %v, the lease ended with %v", votes(s[n-1]), lease.Err())
			}
			if got := s[n-1].Do("GET", "lock:job"); !strings.HasPrefix(got, "fh1:"+lease.Fence().Holder+":") {
				t.Errorf("the lock was copied as %q", got)
			}
			mustStay(t, other, lease, time.Now().Add(time.Second))
			if err := lease.Extend(t.Context(), maxTTL); err != nil {
				t.Errorf("extend after the repair: %v", err)
			}
		})
	}
}

// TestForgottenVoteIsPutBack: what a server forgets that a holder has on others, too,
// is there again once it may vote, by renewals alone.
func TestForgottenVoteIsPutBack(t *testing.T) {
	t.Parallel()
	const maxTTL = 1500 * time.Millisecond
	s := startSet(t, 3)
	lease, err := s.client(t, maxTTL).Mutex("job").TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a server to spare", func() bool {
		spare, ok := lease.Redundancy()
		return ok && spare == 1
	})
	s[1].Do("FLUSHALL")
	eventually(t, "no server to spare", func() bool {
		spare, ok := lease.Redundancy()
		return ok && spare == 0
	})
	eventually(t, "a server to spare again", func() bool {
		spare, ok := lease.Redundancy()
		return ok && spare == 1
	})
	if !lease.Valid() || !votes(s[1]) {
		t.Errorf("votes: %v, the lease ended with %v", votes(s[1]), lease.Err())
	}
}

// TestClientsFoundTogether: the first locks of several clients at the same moment.
func TestClientsFoundTogether(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	const clients = 6
	var all sync.WaitGroup
	tokens := make([]fencehold.Token, clients)
	for i := range clients {
		c := s.client(t, 10*time.Second)
		all.Go(func() {
			lease, err := c.Mutex("job").Acquire(t.Context())
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			tokens[i] = lease.Token()
			_ = lease.Release(context.Background())
		})
	}
	all.Wait()
	seen := map[fencehold.Token]bool{}
	for i, token := range tokens {
		if seen[token] {
			t.Errorf("client %d got a token that another had: %v", i, token)
		}
		seen[token] = true
	}
}

// TestMajorityLost: without a majority that has its memory there are no locks, until
// the set is founded again by force.
func TestMajorityLost(t *testing.T) {
	t.Parallel()
	const maxTTL = time.Second
	s := startSet(t, 3)
	old := s.client(t, maxTTL)
	last := cycle(t, old, "job")
	s[0].Restart()
	s[2].Restart()
	for name, c := range map[string]*fencehold.Client{"old": old, "new": s.client(t, maxTTL)} {
		_, err := c.Mutex("job").TryAcquire(t.Context())
		if !errors.Is(err, fencehold.ErrUnavailable) || !strings.Contains(err.Error(), "fencehold redlock repair") {
			t.Errorf("%s client: %v, want unavailability that names the repair", name, err)
		}
	}
	if err := s.repair(t, maxTTL, redlock.RepairOptions{}); !errors.Is(err, fencehold.ErrUnavailable) {
		t.Errorf("repair without force: %v", err)
	}
	if err := s.repair(t, maxTTL, redlock.RepairOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*fencehold.Client{old, s.client(t, maxTTL)} {
		token := cycle(t, c, "job")
		if token <= last {
			t.Errorf("token %v after %v", token, last)
		}
		last = token
	}
}

// TestPartOfASet: a client that names other servers than the founder is refused.
func TestPartOfASet(t *testing.T) {
	t.Parallel()
	s := startSet(t, 5)
	cycle(t, s.client(t, 10*time.Second), "job")
	for name, c := range map[string]*fencehold.Client{
		"three of five": s[:3].client(t, 10*time.Second),
		"longer TTLs":   s.client(t, 20*time.Second),
	} {
		if _, err := c.Mutex("job").TryAcquire(t.Context()); !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cycle(t, s.client(t, time.Second), "job")
}

// TestSetByURLs: servers with a URL each, what the set is called, and what is refused.
func TestSetByURLs(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	urls := []string{s[0].URL(), s[1].URL(), s[2].URL()}
	b, err := redlock.Open(t.Context(), urls...)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	want := "redlock://" + s[0].Addr() + "," + s[1].Addr() + "," + s[2].Addr()
	if info := b.Info(); info.URL != want || info.Kind != "redlock" || info.MaxTTL != time.Minute {
		t.Errorf("info %+v, want URL %s", info, want)
	}
	if _, err := redlock.Open(t.Context(), urls[0], urls[1], urls[0]); !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("one server twice: %v", err)
	}
	if _, err := fencehold.Open(t.Context(), "redlock://:SECRET@a,b"); !errors.Is(err, fencehold.ErrInvalid) ||
		strings.Contains(err.Error(), "SECRET") {
		t.Errorf("two servers: %v", err)
	}
}

// TestFoundedAnew: a client that still knows the old set is refused by a new one on
// the same servers that does not allow for its TTLs.
func TestFoundedAnew(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	old := s.client(t, 20*time.Second)
	cycle(t, old, "job")
	for _, r := range s {
		r.Do("DEL", "lock:fh!m")
	}
	cycle(t, s.client(t, 2*time.Second), "job")
	eventually(t, "the old client is refused", func() bool {
		lease, err := old.Mutex("job").TryAcquire(t.Context())
		if err == nil {
			t.Fatalf("granted for %v by a set for 2s", lease.TTL())
		}
		return errors.Is(err, fencehold.ErrInvalid)
	})
}

// TestShortLivedClients: clients that are closed after one lock let a server join, and
// vote again, all the same.
func TestShortLivedClients(t *testing.T) {
	t.Parallel()
	const maxTTL = 1500 * time.Millisecond
	s := startSet(t, 3)
	once := func() {
		c := openURL(t, s.url(maxTTL), maxTTL)
		cycle(t, c, "job")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	once()
	s[2].Do("FLUSHALL")
	once()
	if s[2].Do("EXISTS", "lock:fh!j") != "1" {
		t.Error("the server is not joining")
	}
	eventually(t, "a vote", func() bool {
		once()
		return votes(s[2])
	})
}
