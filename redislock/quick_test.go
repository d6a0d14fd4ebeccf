package redislock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold/driver"
)

// ghost is who stands in line, seemed alive a moment ago, and listens to nothing.
const ghostChannel = "lock:fh!i:GHOST:1"

// haunt puts a ghost into the line, before all others, and returns its entry.
func (r *race) haunt() string {
	entry := driver.NewHolder() + " GHOST 20000 c=GHOST"
	r.server.Do("SET", "lock:fh!p:GHOST", "1.1 "+ghostChannel, "PX", "60000")
	r.server.Do("ZADD", jobLine, "7", entry)
	r.server.Do("PEXPIRE", jobLine, "60000")
	return entry
}

// keeps demands that a ghost stands where it stood, in a line that ends some time.
func (r *race) keeps(entry string) {
	r.Helper()
	if score := r.server.Do("ZSCORE", jobLine, entry); score != "7" {
		r.Errorf("the ghost has ticket %q, want 7", score)
	}
	if left := pttl(r, r.server, jobLine); left <= 0 {
		r.Errorf("the line has no end: %v", left)
	}
}

// Who cannot be reached keeps the place, and the lock is free for whoever asks.
func TestQuickReleasePassesOver(t *testing.T) {
	r := newRace(t)
	lease := r.hold(r.direct())
	entry := r.haunt()
	r.release(lease)
	if value := r.value(); value != "" {
		t.Errorf("the lock is %q, want it free", value)
	}
	r.keeps(entry)
	next := r.hold(r.direct())
	r.ordered(lease, next)
	r.release(next)
	r.keeps(entry)
}

// Somebody who listens to all channels is no waiter: the lock goes to the next
// one in line and not to who cannot be reached.
func TestQuickReleaseWithAnOnlooker(t *testing.T) {
	r := newRace(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{r.server.Addr()}, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	onlooker, leave := client.Dedicate()
	t.Cleanup(leave)
	onlooker.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
	if err := onlooker.Do(r.Context(), onlooker.B().Psubscribe().Pattern("*").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	r.eventually(soon, "the onlooker listens", func() bool { return r.server.Do("PUBLISH", ghostChannel, "x") == "1" })
	lease := r.hold(r.direct())
	next := r.queue(r.direct())[0]
	entry := r.haunt()
	r.release(lease)
	second := next.granted(soon, "behind one who cannot be reached")
	r.ordered(lease, second)
	r.keeps(entry)
	r.release(second)
}

// A hand-over mints a token above all before, whatever the counter has become.
func TestQuickReleaseFollowsTheCounter(t *testing.T) {
	for name, counter := range map[string]int64{
		"ahead": time.Now().Add(time.Hour).UnixMicro(), "short": 5, "gone": 0,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t)
			lease := r.hold(r.direct())
			next := r.queue(r.direct())[0]
			r.server.Do("DEL", jobCounter)
			if counter != 0 {
				r.server.Do("SET", jobCounter, strconv.FormatInt(counter, 10))
			}
			r.release(lease)
			second := next.granted(soon, "after a hand-over")
			r.ordered(lease, second)
			if int64(second.Token()) <= counter {
				t.Errorf("token %v, want one above %d", second.Token(), counter)
			}
			r.release(second)
			if last := r.server.Do("GET", jobCounter); last != second.Token().String() {
				t.Errorf("the counter is %s, want %v", last, second.Token())
			}
		})
	}
}

// A key that has no end is released, and handed over.
func TestQuickReleaseWithoutAnEnd(t *testing.T) {
	r := newRace(t)
	lease := r.hold(r.direct())
	next := r.queue(r.direct())[0]
	r.server.Do("PERSIST", jobKey)
	r.release(lease)
	second := next.granted(soon, "behind a lock without an end")
	r.ordered(lease, second)
	r.release(second)
}
