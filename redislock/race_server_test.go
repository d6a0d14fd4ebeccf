package redislock_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// A hand-over dies after some of its writes, because the server refuses the
// next one. What it leaves is a prefix of counter, lock, line, push; the
// waiters find it, and no token is given twice.
func TestRace18ScriptDies(t *testing.T) {
	for _, death := range []struct {
		denied string // a command
		line   int    // how many are in line then
	}{
		{denied: "zrem", line: 2},
		{denied: "publish", line: 1},
	} {
		t.Run(death.denied, func(t *testing.T) {
			r := newRace(t)
			holder := r.hold(r.direct(fencehold.WithTTL(brief), fencehold.WithoutRenewal()))
			waiters := r.queue(r.direct(), r.direct())
			front := holderOf(r.line()[0])
			r.server.Do("ACL", "SETUSER", "default", "-"+death.denied)
			_ = holder.Release(context.Background()) // how it ends is not known to all
			value, line := r.value(), r.line()
			if holderOf(value) != front || len(line) != death.line {
				t.Errorf("the lock is %q, %d in line", value, len(line))
			}
			if minted := tokenOf(value); minted != r.server.Do("GET", jobCounter) {
				t.Errorf("the counter is not at the token of %q", value)
			}
			r.server.Do("ACL", "SETUSER", "default", "+"+death.denied)
			first := waiters[0].granted(brief+soon, "the grant that was half made")
			r.covered(first)
			r.release(first)
			second := waiters[1].granted(soon, "second in line")
			r.ordered(holder, first, second)
			r.release(second)
			r.empty()
		})
	}
}

// The same, with what the earlier steps leave made by hand.
func TestRace18PrefixesOfAGrant(t *testing.T) {
	for what, leave := range map[string]func(r *race, entry, token string){
		"counter": func(r *race, _, token string) {
			r.server.Do("SET", jobCounter, token, "PX", "1000000")
			r.server.Do("DEL", jobKey) // the holder repeats, or expires
		},
		"counter and lock": func(r *race, entry, token string) { r.grantByHand(entry, token) },
		"counter, lock and line": func(r *race, entry, token string) {
			r.grantByHand(entry, token)
			r.server.Do("ZREM", jobLine, entry)
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRace(t)
			holder := r.hold(r.direct(fencehold.WithTTL(brief), fencehold.WithoutRenewal()))
			waiters := r.queue(r.direct(), r.direct())
			last := strconv.FormatInt(int64(holder.Token())+7, 10)
			leave(r, r.line()[0], last)
			first := waiters[0].granted(brief+soon, "after a grant that was half made")
			r.covered(first)
			if got := first.Token().String(); what == "counter" && got <= last || what != "counter" && got != last {
				t.Errorf("token %s after %s", got, last)
			}
			r.release(first)
			r.ordered(holder, first, waiters[1].granted(soon, "second in line"))
		})
	}
}

// grantByHand sets counter and lock as a hand-over to an entry does.
func (r *race) grantByHand(entry, token string) {
	f := strings.Fields(entry)
	r.server.Do("SET", jobCounter, token, "PX", "1000000")
	r.server.Do("SET", jobKey, "fh1:"+f[0]+":"+token+":1:"+f[3], "PX", f[2])
}

// Commands go to the new primary while the inbox is still at the old one: the
// waiter is passed over, believes nothing that the old one says, and is served
// as soon as it listens to the new one.
func TestRace20InboxAtADemotedPrimary(t *testing.T) {
	r := newRace(t)
	old := &race{T: t, server: testcluster.StartRedis(t)}
	holder := r.hold(r.direct())
	conn := r.split(r.server.Addr(), old.server.Addr())
	deaf := make(chan struct{})
	conn.deaf = deaf
	strayed := r.wait(r.onConn(conn))
	hears := sync.OnceFunc(func() { close(deaf) })
	r.Cleanup(hears)
	r.lined(1)
	next := r.queue(r.direct())[0]
	entry := strings.Fields(r.line()[0])

	// The old primary hands over too, to the same entry.
	r.eventually(soon, "an inbox at the old primary", func() bool { return old.publish(entry[0]) > 0 })
	for range 50 {
		old.publish(entry[0])
		strayed.waits("what the old primary says")
		<-time.After(time.Millisecond)
	}
	r.release(holder)
	second := next.granted(soon, "behind one who listens elsewhere")
	if line := r.line(); len(line) != 1 || holderOf(line[0]) != entry[0] {
		t.Errorf("line %q: want the one who was passed over", line)
	}
	inbox := r.plug(r.server.Addr())
	conn.inbox.Store(&inbox)
	hears()
	r.listening(3)
	r.release(second)
	r.ordered(holder, second, strayed.granted(soon, "listens to the new primary"))
}

// publish sends a grant of a large token to every inbox and returns how many
// there are.
func (r *race) publish(holder string) int {
	const everyInbox = "local n = 0 " +
		"for _, c in ipairs(redis.call('PUBSUB', 'CHANNELS', 'lock:fh!i*')) do " +
		"n = n + redis.call('PUBLISH', c, ARGV[1]) end return n"
	n, _ := strconv.Atoi(r.server.Do("EVAL", everyInbox, "0", "g "+holder+" 9007199254740991 30000"))
	return n
}

// The server's clock jumps forward: signs of life and lines are gone. Waiters
// join again, and keep their order whoever comes first.
func TestRace21ClockJumpsForward(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	proxy := r.proxy()
	waiters := r.queue(r.client(proxy.Addr()), r.direct())
	slow := r.keepsBack(proxy.HoldRequests(pinging))
	r.server.Do("DEL", jobLine)
	r.forget()
	r.seen(slow, "a ping of the first in line")
	r.lined(1)
	slow.Release()
	r.lined(2)
	r.release(holder)
	first := waiters[0].granted(soon, "who came first")
	waiters[1].waits("who came second")
	r.release(first)
	r.ordered(holder, first, waiters[1].granted(soon, "who came second"))
}

// The server's clock jumps back: tokens rise from the last one.
func TestRace21ClockJumpsBack(t *testing.T) {
	r := newRace(t)
	const hour = int64(time.Hour / time.Microsecond)
	ahead := strconv.FormatInt(time.Now().UnixMicro()+hour, 10)
	r.server.Do("SET", jobCounter, ahead, "PX", "1000")
	holder := r.hold(r.direct())
	waiter := r.queue(r.direct())[0]
	r.release(holder)
	next := waiter.granted(soon, "tokens are ahead of the clock")
	if got := holder.Token().String(); got <= ahead {
		t.Errorf("token %s after %s", got, ahead)
	}
	r.ordered(holder, next)
	if left := r.server.Do("PTTL", jobCounter); left != "-1" {
		t.Errorf("the counter expires in %sms, when the clock may not yet be past it", left)
	}
}

// FLUSHALL while the lock is held and waited for: the waiters join again, long
// before the time of the holder is over, and tokens go on.
func TestRace22FlushWhileWaiting(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	waiters := r.queue(r.direct(), r.direct())
	r.server.Do("FLUSHALL")
	r.inTurn(2*soon, holder, waiters[0], waiters[1])
	r.empty()
	if err := holder.Extend(t.Context(), long); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("renewal of what was flushed: %v", err)
	}
}

// FLUSHALL while the lock is held: the holder learns it by the next renewal, and
// takes nothing from whoever comes next.
func TestRace22FlushWhileHolding(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct(fencehold.WithTTL(2 * brief)))
	r.server.Do("FLUSHALL")
	next := r.hold(r.direct())
	select {
	case <-holder.Done():
	case <-time.After(2*brief + busy):
		t.Fatal("the holder learns nothing")
	}
	if err := holder.Release(t.Context()); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("release of what was flushed: %v", err)
	}
	r.covered(next)
	if !next.Valid() {
		t.Errorf("the next holder: %v", next.Err())
	}
	r.ordered(holder, next)
}

// FLUSHALL while a grant is on its way: the next holder and the late one are
// never both valid.
func TestRace22FlushMeetsPush(t *testing.T) {
	r := newRace(t)
	holder := r.hold(r.direct())
	client, _, listen := r.apart()
	waiter := r.queue(client)[0]
	push := r.keepsBack(listen.HoldReplies(pushing))
	r.release(holder)
	r.seen(push, "the grant")
	r.server.Do("FLUSHALL")
	next := r.hold(r.direct())
	r.ordered(holder, next)
	r.lined(1) // the waiter has found out
	push.Release()
	for range 100 {
		waiter.mayHold()
	}
	waiter.waits("the lock is somebody else's")
	r.covered(next)
	r.release(next)
	r.ordered(next, waiter.granted(soon, "in its turn"))
}
