package redislock_test

import (
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

// looksSoon deletes the key of a stranger, and demands that a waiter notices as
// the front of a line does.
func (r *race) looksSoon(w *waiter) *fencehold.Lease {
	r.Helper()
	r.server.Do("DEL", jobKey)
	deleted := time.Now()
	lease := w.granted(soon, "the stranger has left")
	if took := time.Since(deleted); took > 40*time.Millisecond+busy {
		r.Errorf("granted %v after the stranger had left", took)
	}
	r.covered(lease)
	return lease
}

// The front behind a stranger gives up: the next one looks from then on.
func TestRace14FrontLeaves(t *testing.T) {
	for what, end := range map[string][]string{"without an end": nil, "with an end": {"PX", "60000"}} {
		t.Run(what, func(t *testing.T) {
			r := newRace(t)
			r.server.Do(append([]string{"SET", jobKey, "stranger"}, end...)...)
			waiters := r.queue(r.direct(), r.direct())
			waiters[0].leaves()
			r.lined(1)
			r.looksSoon(waiters[1])
		})
	}
}

// The front behind a stranger has died: the next one notices when its sign of
// life is over, and looks from then on.
func TestRace14FrontDies(t *testing.T) {
	r := newRace(t)
	r.server.Do("SET", jobKey, "stranger", "PX", "60000")
	proxy := r.proxy()
	waiters := r.queue(r.client(proxy.Addr(), fencehold.WithTTL(brief)), r.direct())
	alive := r.line()[1]
	proxy.Refuse()
	proxy.Reset()
	r.Cleanup(proxy.Heal)
	r.lined(1)
	if line := r.line(); line[0] != alive {
		t.Fatalf("the line is %q, want %q", line, alive)
	}
	r.looksSoon(waiters[1])
}

// Two short grants follow a long one, and the second grantee is dead. Whoever
// is behind was told of the long one alone, and waits no longer than the dead
// one's short time.
func TestRace13DeadGranteeAfterALongGrant(t *testing.T) {
	const ttl = time.Second
	short := fencehold.WithTTL(ttl)
	r := newRace(t)
	holder := r.hold(r.direct())
	proxy := r.proxy()
	waiters := r.queue(r.direct(short), r.client(proxy.Addr(), short), r.direct())
	proxy.Cut()
	r.Cleanup(proxy.Heal)
	r.release(holder)
	first := waiters[0].granted(soon, "first in line")
	r.release(first)
	released := time.Now()
	last := waiters[2].granted(hang, "behind one who is dead")
	if took := time.Since(released); took > ttl+busy {
		t.Errorf("one who is dead cost %v", took)
	}
	r.ordered(holder, first, last)
}

// The line outlasts the holder that it waits for, whoever joins it later.
func TestLineOutlastsTheHolder(t *testing.T) {
	r := newRace(t)
	r.hold(r.direct(fencehold.WithTTL(time.Hour)))
	r.queue(r.direct(), r.direct(fencehold.WithTTL(brief)))
	if left := pttl(t, r.server, jobLine); left < time.Hour {
		t.Errorf("the line ends in %v, before the holder may", left)
	}
	r.server.Do("SET", jobKey, "stranger", "PX", "1000") // a shorter one than the line was made for
	r.queue(r.direct())
	if left := pttl(t, r.server, jobLine); left < time.Hour-time.Minute {
		t.Errorf("the line was cut short to %v", left)
	}
}
