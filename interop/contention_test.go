package interop

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// contestLimit bounds a contest: many times what it takes.
const contestLimit = 2 * time.Minute

// TestContention lets two clients of fencehold and one of each other library
// contend for one key: no two are inside at once, no update is lost, and
// everybody gets turns.
func TestContention(t *testing.T) {
	server := testcluster.StartRedis(t)
	c := contest{key: "lock:shared", turns: 300}
	if full() {
		c.turns = 2000
	}
	ours := func() *fencehold.Client { return newFencehold(t, server, nil) }
	contend(t, c, contenders(t, c, strangers, ours, server), server)
}

// contend runs a contest, whose keys are on a server.
func contend(t *testing.T, c contest, fields map[string]func(string) error, server *testcluster.Redis) {
	t.Helper()
	var contending sync.WaitGroup
	for kind, contend := range fields {
		contending.Go(func() {
			if err := contend(kind); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		})
	}
	contending.Wait()
	judge(t, server, c, len(fields))
}

// contenders starts all kinds before the contest begins: a client of each other
// library, and two of fencehold. The referees are at the first server.
func contenders(
	t *testing.T, c contest, others map[string]func(testing.TB, ...*testcluster.Redis) stranger,
	ours func() *fencehold.Client, servers ...*testcluster.Redis,
) map[string]func(kind string) error {
	fields := map[string]func(string) error{}
	for kind, start := range others {
		s := start(t, servers...)
		fields[kind] = func(kind string) error { return s.contend(c, kind) }
	}
	for _, kind := range []string{"fencehold-1", "fencehold-2"} {
		client, r := ours(), newReferee(t, servers[0])
		fields[kind] = func(kind string) error { return contendOurs(client, r, c, kind) }
	}
	return fields
}

// contendOurs is contend of a client of fencehold.
func contendOurs(client *fencehold.Client, r referee, c contest, kind string) error {
	ctx, cancel := context.WithTimeout(context.Background(), contestLimit)
	defer cancel()
	mutex := client.Mutex(strings.TrimPrefix(c.key, "lock:"))
	return r.compete(c, kind, func() (func() error, error) {
		lease, err := mutex.Acquire(ctx)
		return func() error { return lease.Release(ctx) }, err
	})
}

// judge looks at what a contest has left.
func judge(t *testing.T, server *testcluster.Redis, c contest, kinds int) {
	t.Helper()
	if overlaps := server.Do("GET", overlapsKey); overlaps != "" {
		t.Errorf("%s overlaps", overlaps)
	}
	made := number(t, server.Do("GET", counterKey))
	turns, sum := turnsOf(t, server), 0
	for kind, n := range turns {
		sum += n
		if n < c.turns/100 {
			t.Errorf("%s got %d turns of %d", kind, n, made)
		}
	}
	t.Logf("turns: %v", turns)
	switch {
	case len(turns) != kinds:
		t.Errorf("%d kinds got turns, of %d", len(turns), kinds)
	case made != sum || made < c.turns:
		t.Errorf("the counter says %d after %d turns of at least %d", made, sum, c.turns)
	}
}

// turnsOf reads the turns of each kind.
func turnsOf(t *testing.T, server *testcluster.Redis) map[string]int {
	t.Helper()
	lines := strings.Fields(server.Do("HGETALL", turnsKey))
	turns := map[string]int{}
	for i := 0; i+1 < len(lines); i += 2 {
		turns[lines[i]] = number(t, lines[i+1])
	}
	return turns
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRefereeNotices lets two into the contest without a lock: the referees
// must count an overlap, or they could not find one.
func TestRefereeNotices(t *testing.T) {
	server := testcluster.StartRedis(t)
	free := func() (func() error, error) { return func() error { return nil }, nil }
	var contending sync.WaitGroup
	for range 8 {
		r := newReferee(t, server)
		contending.Go(func() {
			if err := r.compete(contest{turns: 200}, "anybody", free); err != nil {
				t.Error(err)
			}
		})
	}
	contending.Wait()
	made, turns := number(t, server.Do("GET", counterKey)), turnsOf(t, server)["anybody"]
	if overlaps := server.Do("GET", overlapsKey); overlaps == "" || made == turns {
		t.Errorf("%q overlaps, %d turns, counter %d: want overlaps and lost updates", overlaps, turns, made)
	}
}
