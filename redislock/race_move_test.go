package redislock_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// A move is one slot on its way from one node to another, and the lock in it.
type move struct {
	*race
	cluster  *testcluster.Cluster
	name     string
	slot     int
	from, to *testcluster.Redis
}

// The slot of a lock that is held and waited for moves, and stops half-way: the
// holder can renew and release, nobody gets the lock twice, and when the move
// is over the waiters get it.
func TestRace23SlotMoves(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 2, 0)
	for _, phase := range []struct {
		name  string
		moved func(key string) bool // which keys have moved
	}{
		{"announced", func(string) bool { return false }},
		{"lock", func(key string) bool { return !strings.Contains(key, "fh!") }},
		{"line", func(key string) bool { return strings.Contains(key, "fh!q") }},
		{"counter", func(key string) bool { return strings.Contains(key, "fh!c") }},
		{"signs of life", func(key string) bool { return strings.Contains(key, "fh!p") }},
		{"helper keys", func(key string) bool { return strings.Contains(key, "fh!") }},
		{"all", func(string) bool { return true }},
	} {
		t.Run(phase.name, func(t *testing.T) {
			newMove(t, cluster, "job of "+phase.name).stopsHalfWay(phase.moved)
		})
	}
}

// stopsHalfWay moves some keys, and the rest once the holder has released.
func (m *move) stopsHalfWay(moved func(key string) bool) {
	holder := m.wait().granted(soon, "a free lock")
	waiter := m.wait()
	m.eventually(soon, "in line", func() bool { return m.waiting() == 1 })
	m.cluster.BeginMove(m.slot, m.to)
	m.some(moved)

	if err := holder.Extend(m.Context(), long); err != nil {
		m.Errorf("renewal: %v", err)
	}
	if lease, err := m.client().Mutex(m.name).TryAcquire(m.Context()); err == nil {
		m.Errorf("two holders: %v and %v", holder.Fence(), lease.Fence())
	}
	newcomer := m.wait()
	began := time.Now()
	if err := holder.Release(context.Background()); err != nil {
		m.Errorf("release: %v", err)
	}
	if took := time.Since(began); took > busy {
		m.Errorf("release took %v", took)
	}
	m.cluster.FinishMove(m.slot, m.to)
	m.inTurn(2*soon, holder, waiter, newcomer)
}

// The lock can be handed to the first in line, and the second one's sign of life
// has moved: the release is one.
func TestRace23SignOfLifeMoves(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 2, 0)
	m := newMove(t, cluster, job)
	holder := m.wait().granted(soon, "a free lock")
	var waiters []*waiter
	for i := range 2 {
		waiters = append(waiters, m.wait())
		m.eventually(soon, "in line", func() bool { return m.waiting() == i+1 })
	}
	second := strings.Fields(m.entries()[1])[1]
	cluster.BeginMove(m.slot, m.to)
	m.some(func(key string) bool { return strings.HasSuffix(key, second) })
	m.release(holder)
	first := waiters[0].granted(soon, "first in line")
	cluster.FinishMove(m.slot, m.to)
	m.release(first)
	m.ordered(holder, first, waiters[1].granted(2*soon, "second in line"))
}

// The slot has moved while the lock is held and waited for: the holder goes on
// at the new node, and so does the inbox of the waiter.
func TestRace23InboxFollowsTheSlot(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 2, 0)
	m := newMove(t, cluster, job)
	holder := m.wait().granted(soon, "a free lock")
	waiter := m.wait()
	m.eventually(soon, "in line", func() bool { return m.waiting() == 1 })
	cluster.MoveSlot(m.slot, m.to)
	m.eventually(2*soon, "listens at the new node", func() bool {
		return m.to.Do("PUBSUB", "SHARDCHANNELS", "lock:fh!i*") != ""
	})
	waiter.waits("the lock is held")
	if err := holder.Extend(t.Context(), long); err != nil || !holder.Valid() {
		t.Errorf("renewal at the new node: %v, %v", err, holder.Err())
	}
	m.release(holder)
	m.ordered(holder, waiter.granted(soon, "at the new node"))
}

// newMove picks a lock and where its slot goes.
func newMove(t *testing.T, cluster *testcluster.Cluster, name string) *move {
	t.Helper()
	m := &move{race: &race{T: t}, cluster: cluster, name: name, slot: cluster.Slot("lock:" + name)}
	m.from = cluster.Owner(m.slot)
	nodes := cluster.Nodes()
	m.to = nodes[1-slices.Index(nodes, m.from)]
	return m
}

// client opens a client of its own.
func (m *move) client() *fencehold.Client {
	m.Helper()
	return m.at(m.cluster.URL())
}

// wait has a client of its own wait for the lock.
func (m *move) wait() *waiter {
	m.Helper()
	return m.waitFor(m.client().Mutex(m.name))
}

// keys returns those that the old node has in the slot.
func (m *move) keys() []string {
	text := m.from.Do("CLUSTER", "GETKEYSINSLOT", strconv.Itoa(m.slot), "100")
	return strings.Split(text, "\n")
}

// entries are those of the line at the old node.
func (m *move) entries() []string {
	for _, key := range m.keys() {
		if strings.Contains(key, "fh!q") {
			return strings.Split(m.from.Do("ZRANGE", key, "0", "-1"), "\n")
		}
	}
	return nil
}

// waiting is how many stand in line there.
func (m *move) waiting() int { return len(m.entries()) }

// some moves those keys of the slot that which is true for.
func (m *move) some(which func(string) bool) {
	m.Helper()
	keys := slices.DeleteFunc(m.keys(), func(key string) bool { return !which(key) })
	if len(keys) > 0 {
		m.cluster.MoveKeys(m.slot, m.to, keys...)
	}
}
