package redislock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// underSentinel starts a primary and a replica under Sentinel.
func underSentinel(t *testing.T) (*race, *testcluster.Sentinel) {
	t.Helper()
	t.Parallel()
	set := testcluster.StartSentinel(t, 1, 3)
	return &race{T: t, server: set.Servers()[0]}, set
}

// A failover while the lock is held, renewed and waited for.
func TestRace19FailoverKeepsTheLine(t *testing.T) {
	r, set := underSentinel(t)
	holder := r.hold(r.at(set.URL(), fencehold.WithTTL(long/2)))
	waiters := r.queue(r.at(set.URL()), r.at(set.URL()))
	replica := set.Servers()[1]
	r.eventually(soon, "replicated", func() bool { return replica.Do("ZCARD", jobLine) == "2" })
	set.Failover()
	r.server = set.Primary()
	r.covered(holder)
	if !holder.Valid() {
		t.Fatalf("the holder: %v", holder.Err())
	}
	r.eventually(2*soon, "renewed at the new primary", func() bool { return holder.Extend(r.Context(), long) == nil })
	r.covered(holder)
	r.eventually(2*soon, "both listen at the new primary", func() bool {
		return r.reaches(0) && r.reaches(1)
	})
	waiters[0].waits("the lock is held")
	r.release(holder)
	first := waiters[0].granted(soon, "first in line")
	waiters[1].waits("second in line")
	r.covered(first)
	r.release(first)
	r.ordered(holder, first, waiters[1].granted(soon, "second in line"))
}

// reaches reports whether the one at a place of the line can be told a grant.
func (r *race) reaches(place int) bool {
	line := r.line()
	if len(line) <= place {
		return false
	}
	life := strings.Fields(r.server.Do("GET", "lock:fh!p:"+strings.Fields(line[place])[1]) + " - -")
	return strings.HasSuffix(r.server.Do("PUBSUB", "NUMSUB", life[1]), "\n1")
}

// A failover brings back a line and a value of earlier: one who gave up is in
// line again, and one who waits is not. Tokens follow the clock.
func TestRace19StaleReplica(t *testing.T) {
	const ttl = 5 * time.Second
	r, set := underSentinel(t)
	primary, replica := set.Servers()[0], set.Servers()[1]
	short := fencehold.WithTTL(ttl)
	past := r.hold(r.at(set.URL(), short))
	undecided := r.at(set.URL(), short)
	ghost := r.queue(undecided)[0]
	r.eventually(soon, "replicated", func() bool { return replica.Do("ZCARD", jobLine) == "1" })

	r.detach(replica)
	ghost.leaves()
	r.release(past)
	lost := r.hold(r.at(set.URL(), short, fencehold.WithoutRenewal()))
	waiters := r.queue(r.at(set.URL(), short), undecided)
	if n := replica.Do("ZCARD", jobLine); n != "1" || primary.Do("ZCARD", jobLine) != "2" {
		t.Fatalf("%s in line at the replica, which was detached", n)
	}
	primary.Kill()
	set.WaitFailover(primary)
	r.server = replica

	stale := past.Fence().Holder
	r.eventually(ttl+soon, "the value of earlier is over", func() bool { return holderOf(r.value()) != stale })
	// One of them joins again at a replica that did not know it; which one is
	// first, who gave up and came back may decide.
	r.ordered(past, lost)
	r.inTurn(soon, lost, waiters[0], waiters[1])
	if err := past.Err(); !errors.Is(err, fencehold.ErrReleased) {
		t.Errorf("the holder of earlier: %v", err)
	}
	r.empty()
}

// detach ends the replication of a replica, for good.
func (r *race) detach(replica *testcluster.Redis) {
	r.Helper()
	replica.Do("CONFIG", "SET", "masteruser", "nobody", "masterauth", "wrong")
	r.server.Do("CLIENT", "KILL", "TYPE", "replica")
	r.eventually(hang, "the replica is detached", func() bool {
		return strings.Contains(replica.Do("INFO", "replication"), "master_link_status:down") &&
			strings.Contains(r.server.Do("INFO", "replication"), "connected_slaves:0")
	})
}
