package redislock_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// newDurableRace is newRace with a server that has written what it answers.
func newDurableRace(t *testing.T) *race {
	t.Helper()
	t.Parallel()
	r := &race{T: t, server: testcluster.StartRedis(t,
		testcluster.Config("appendonly", "yes"), testcluster.Config("appendfsync", "always"))}
	r.load(r.server)
	return r
}

// The server crashes and comes back with its data: the holder still holds, and
// the line is served in order.
func TestWaitersSurviveRestartWithData(t *testing.T) {
	r := newDurableRace(t)
	holder := r.hold(r.direct())
	waiters := r.queue(r.direct(), r.direct())
	line := r.line()
	r.server.Restart()
	r.eventually(hang, "the holder renews", func() bool { return holder.Extend(t.Context(), long) == nil })
	r.reachable(2)
	for _, w := range waiters {
		w.waits("the lock is held")
	}
	if now := r.line(); len(now) != 2 || now[0] != line[0] || now[1] != line[1] {
		t.Errorf("the line became %q, was %q", now, line)
	}
	r.release(holder)
	first := waiters[0].granted(soon, "first in line")
	waiters[1].waits("second in line")
	r.release(first)
	r.ordered(holder, first, waiters[1].granted(soon, "second in line"))
}

// The server crashes and has forgotten all: the waiters join again, long before
// the time of the holder would be over, and tokens go on.
func TestWaitersSurviveRestartWithoutData(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	waiters := r.queue(r.direct(), r.direct())
	r.server.Restart()
	r.inTurn(2*soon, holder, waiters[0], waiters[1])
	r.empty()
}

// The server is down while a waiter asks for the lock, again and again: the
// wait goes on when it is back.
func TestWaiterAsksAServerThatIsDown(t *testing.T) {
	r := newDurableRace(t)
	r.server.Do("SET", jobKey, "stranger", "PX", "60000")
	client, asked := r.counted()
	waiter := r.queue(client)[0]
	r.server.Kill()
	r.asksAgain(asked)
	waiter.waits("the server is down")
	r.server.Start()
	r.server.Do("DEL", jobKey)
	lease := waiter.granted(soon, "the server is back")
	r.covered(lease)
}

// reached is a script that counts the signs of life that name a channel which
// somebody listens to.
const reached = `local n = 0
for _, key in ipairs(redis.call('KEYS', 'lock:fh!p:*')) do
  local channel = string.match(redis.call('GET', key), ' (%S+)$')
  n = n + redis.call('PUBSUB', 'NUMSUB', channel)[2]
end
return n`

// reachable waits until n waiters can be handed the lock. To have subscribed
// again is not enough: the server has to have been told of the new channel.
func (r *race) reachable(n int) {
	r.Helper()
	want := strconv.Itoa(n)
	r.eventually(hang, want+" who can be reached", func() bool { return r.server.Do("EVAL", reached, "0") == want })
}

// counted opens a client that counts how often it asks for the lock.
func (r *race) counted(opts ...fencehold.Option) (*fencehold.Client, *atomic.Int32) {
	r.Helper()
	asked := new(atomic.Int32)
	conn := r.split(r.server.Addr(), r.server.Addr())
	conn.asked = func(call redislock.Call) {
		if call.Script == redislock.ScriptsByName["acquire"] {
			asked.Add(1)
		}
	}
	return r.onConn(conn, opts...), asked
}

// asksAgain waits until the answers to two questions at least, which are asked
// from now on, have come.
func (r *race) asksAgain(asked *atomic.Int32) {
	r.Helper()
	// The first may be under way, and the last is.
	before := asked.Load()
	r.eventually(hang, "asks again and again", func() bool { return asked.Load() >= before+4 })
}

// TestWaiterNeedsReplicas: a server that misses replicas refuses to write. Whoever
// asks is told so, and whoever stands in line stays there.
func TestWaiterNeedsReplicas(t *testing.T) {
	r := newRace(t)
	r.server.Do("SET", jobKey, "stranger", "PX", "60000")
	client, asked := r.counted()
	waiter := r.queue(client)[0]
	r.server.Do("CONFIG", "SET", "min-replicas-to-write", "1")
	began := time.Now()
	mustBeRefused(t, r.direct(), "other", "too few replicas")
	within(t, "two refusals", time.Since(began), time.Second)
	r.asksAgain(asked)
	waiter.waits("no replica is connected")
	r.server.Do("CONFIG", "SET", "min-replicas-to-write", "0")
	r.server.Do("DEL", jobKey)
	r.covered(waiter.granted(soon, "no replica is needed"))
}
