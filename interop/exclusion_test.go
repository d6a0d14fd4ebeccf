package interop

import (
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// layouts are the ways in which names become keys.
var layouts = map[string]struct {
	options redislock.Options
	prefix  string
}{
	"prefix":    {prefix: redislock.DefaultPrefix},
	"no prefix": {options: redislock.Options{NoPrefix: true}},
}

// each runs a test for each other library with each layout, with the key of
// the lock "job".
func each(t *testing.T, test func(t *testing.T, s stranger, client *fencehold.Client, key string)) {
	for kind, start := range strangers {
		t.Run(kind, func(t *testing.T) {
			server := testcluster.StartRedis(t)
			s := start(t, server)
			for name, layout := range layouts {
				t.Run(name, func(t *testing.T) {
					test(t, s, newFencehold(t, server, &layout.options), layout.prefix+"job")
				})
			}
		})
	}
}

// eachOnASet is each for the libraries that keep locks on a set of servers.
func eachOnASet(t *testing.T, test func(t *testing.T, s stranger, client *fencehold.Client, key string)) {
	for kind, start := range setStrangers {
		t.Run(kind, func(t *testing.T) {
			for name, layout := range layouts {
				t.Run(name, func(t *testing.T) {
					servers := startSet(t)
					opts := &redlock.Options{NoPrefix: layout.options.NoPrefix}
					test(t, start(t, servers...), newRedlock(t, servers, opts), layout.prefix+"job")
				})
			}
		})
	}
}

// startSet starts the servers of a set.
func startSet(t *testing.T) []*testcluster.Redis {
	t.Helper()
	return []*testcluster.Redis{testcluster.StartRedis(t), testcluster.StartRedis(t), testcluster.StartRedis(t)}
}

// TestStrangerExcludes takes a lock with another library: fencehold is refused
// until that has released it.
func TestStrangerExcludes(t *testing.T) { each(t, strangerExcludes) }

// TestStrangerExcludesOnASet is the same on three servers.
func TestStrangerExcludesOnASet(t *testing.T) { eachOnASet(t, strangerExcludes) }

func strangerExcludes(t *testing.T, s stranger, client *fencehold.Client, key string) {
	mustTry(t, s, key, true)
	if report := held(t, client, "job"); report.Remaining <= 0 || report.Remaining > lockTTL {
		t.Errorf("%v are said to be left of %v", report.Remaining, lockTTL)
	}
	if h := inspect(t, client, "job"); !h.Held || !h.Foreign || h.Key != key || h.Token != 0 {
		t.Errorf("Inspect shows %+v; want a foreign lock at %s", h, key)
	}
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
	acquire(t, client, "job").Release(t.Context())
}

// TestStrangerIsExcluded takes a lock with fencehold: the other library is
// refused until it is released.
func TestStrangerIsExcluded(t *testing.T) { each(t, strangerIsExcluded) }

// TestStrangerIsExcludedOnASet is the same on three servers.
func TestStrangerIsExcludedOnASet(t *testing.T) { eachOnASet(t, strangerIsExcluded) }

func strangerIsExcluded(t *testing.T, s stranger, client *fencehold.Client, key string) {
	lease := acquire(t, client, "job")
	mustTry(t, s, key, false)
	if h := inspect(t, client, "job"); h.Holder != lease.Fence().Holder || !lease.Valid() {
		t.Errorf("after the attempt of another library Inspect shows %+v", h)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustTry(t, s, key, true)
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
}

// mustTry makes one attempt, whose outcome is known.
func mustTry(t *testing.T, s stranger, key string, want bool) {
	t.Helper()
	if got, err := s.try(key, lockTTL); err != nil || got != want {
		t.Fatalf("attempt of the other library: %t, %v; want %t", got, err, want)
	}
}
