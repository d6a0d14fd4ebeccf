package redislock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// mustBeRefused demands that attempts and waits for a lock are told that the
// service is not available, and why.
func mustBeRefused(t *testing.T, c *fencehold.Client, name, why string) {
	t.Helper()
	for what, ask := range map[string]func(*fencehold.Mutex, context.Context) (*fencehold.Lease, error){
		"try": (*fencehold.Mutex).TryAcquire, "acquire": (*fencehold.Mutex).Acquire,
	} {
		_, err := ask(c.Mutex(name, fencehold.WithMaxWait(time.Second)), bounded(t))
		mustBe(t, err, fencehold.ErrUnavailable)
		if !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %q does not say %q", what, err, why)
		}
	}
}

// refusingConn is a Conn to a server that refuses to run scripts, in its own
// words, for as long as there are any.
type refusingConn struct {
	redislock.Conn
	words   atomic.Pointer[string]
	refused atomic.Int32 // how often
}

// Eval implements [redislock.Conn].
func (c *refusingConn) Eval(ctx context.Context, call redislock.Call) (string, error) {
	if words := c.words.Load(); words != nil {
		c.refused.Add(1)
		return "", redislock.ServerError(*words)
	}
	return c.Conn.Eval(ctx, call)
}

// What a server says when it cannot serve now is never taken for a lock that is
// held; whoever stands in line outlasts it.
func TestRefusalsThatPass(t *testing.T) {
	r := newRace(t)
	for _, row := range []struct{ words, why string }{
		{"LOADING Redis is loading the dataset in memory", "is loading its data"},
		{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "has lost its primary"},
		{"CLUSTERDOWN The cluster is down", "does not serve this slot"},
		{"TRYAGAIN Multiple keys request during rehashing of slot", "is being moved"},
		{"NOREPLICAS Not enough good replicas to write.", "too few replicas"},
		{"READONLY You can't write against a read only replica.", "is a replica"},
		{"OOM command not allowed when used memory > 'maxmemory'.", "out of memory"},
		{"MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk.", "to its disk"},
		{"ERR Error running script: -LOADING Redis is loading the dataset in memory", "is loading its data"},
	} {
		r.server.Do("SET", jobKey, "stranger", "PX", "60000")
		conn := &refusingConn{Conn: r.plug(r.server.Addr())}
		client := r.onConn(conn)
		waiter := r.queue(client)[0]
		conn.words.Store(&row.words)
		mustBeRefused(t, client, "other", row.why)
		before := conn.refused.Load()
		r.eventually(hang, "the wait asks on", func() bool { return conn.refused.Load() >= before+3 })
		waiter.waits(row.words)
		conn.words.Store(nil)
		r.server.Do("DEL", jobKey)
		r.release(waiter.granted(soon, row.words))
	}
}

// What does not pass by itself ends the wait.
func TestRefusalForGood(t *testing.T) {
	r := newRace(t)
	r.server.Do("SET", jobKey, "stranger", "PX", "60000")
	conn := &refusingConn{Conn: r.plug(r.server.Addr())}
	waiter := r.queue(r.onConn(conn))[0]
	words := "NOPERM this user has no permissions to run the 'evalsha' command"
	conn.words.Store(&words)
	closes(t, "a wait in vain", waiter.done, soon)
	mustBe(t, waiter.err, fencehold.ErrUnavailable)
	conn.words.Store(nil)
	r.server.Do("DEL", jobKey)
}

// A replica that shows nothing old, whose primary is gone.
func TestPrimaryIsDown(t *testing.T) {
	t.Parallel()
	primary := testcluster.StartRedis(t)
	replica := testcluster.StartReplica(t, primary, testcluster.Config("replica-serve-stale-data", "no"))
	client := openClient(t, replica.URL())
	primary.Kill()
	eventually(t, "the replica notices", func() bool {
		_, err := replica.TryDo("GET", "key")
		return err != nil && strings.Contains(err.Error(), "MASTERDOWN")
	})
	mustBeRefused(t, client, "job", "has lost its primary")
}

// A node of a Cluster that has no replica is gone, so that no slot is served:
// whoever asks is told so, and whoever stands in line gets the lock afterwards.
func TestClusterIsDown(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 3, 0)
	const key = "lock:job"
	home := cluster.PrimaryOf(key)
	home.Do("SET", key, "stranger", "PX", "60000")
	a := openClient(t, cluster.URL())
	next := startAcquire(t, openClient(t, cluster.URL()), "job")
	awaitWaiters(t, a, "job", 1)
	gone := cluster.Nodes()[0]
	if gone == home {
		gone = cluster.Nodes()[1]
	}
	gone.Kill()
	eventually(t, "the cluster is down", func() bool {
		_, err := home.TryDo("GET", key)
		return err != nil && strings.Contains(err.Error(), "CLUSTERDOWN")
	})
	_, err := a.Mutex("job").TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrUnavailable)
	if !strings.Contains(err.Error(), "does not serve this slot") {
		t.Errorf("error %q does not say why", err)
	}
	for down := time.Now(); time.Since(down) < slack; time.Sleep(10 * time.Millisecond) {
		select {
		case <-next.done:
			t.Fatalf("the wait ended while the cluster was down: %v", next.err)
		default:
		}
	}
	gone.Start()
	eventually(t, "the cluster is up", func() bool {
		_, err := home.TryDo("DEL", key)
		return err == nil
	})
	release(t, next.lease(t))
}
