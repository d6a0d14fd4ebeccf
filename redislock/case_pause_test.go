//go:build unix

package redislock_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// guardedWrite is what a store does that checks tokens: it refuses those below
// the highest that it has seen.
const guardedWrite = `local last = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
if tonumber(ARGV[1]) < last then return 'stale' end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
return 'ok'`

// mustWrite makes a guarded write under a token.
func mustWrite(t *testing.T, store *testcluster.Redis, token int64, value, want string) {
	t.Helper()
	got := store.Do("EVAL", guardedWrite, "1", "resource", strconv.FormatInt(token, 10), value)
	if got != want {
		t.Errorf("the write of %q under token %d: %s, want %s", value, token, got, want)
	}
}

func TestB29FrozenHolder(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := newTap(t, server)
	a := startChild(t, "hold", "redis://"+p.Addr(), "job", "1s")
	token, _ := strconv.ParseInt(a.line("held"), 10, 64)
	mustWrite(t, server, token, "A", "ok")
	b := openClient(t, server.URL(), fencehold.WithTTL(time.Second), fencehold.WithMaxWait(5*time.Second))
	next := startAcquire(t, b, "job")
	awaitWaiters(t, b, "job", 1)
	renewed := p.count("renew")
	eventually(t, "a renewal", func() bool { return p.count("renew") > renewed })

	a.freeze()
	frozen := time.Now()
	a.ask("valid")
	a.ask("done")
	lease := next.lease(t)
	within(t, "the next grant", time.Since(frozen), 1500*time.Millisecond)
	const round = 5 * time.Millisecond // of the server's clock
	if after := time.Since(lastBefore(t, p, "renew", time.Now())); after < time.Second-round {
		t.Errorf("the next grant %v after the last renewal, of a TTL of 1s", after)
	}
	mustWrite(t, server, int64(lease.Token()), "B", "ok")
	for time.Since(frozen) < 3*time.Second {
		time.Sleep(10 * time.Millisecond) // the pause is the case
	}
	value, sent := server.Do("GET", "lock:job"), p.count("")
	a.signal(syscall.SIGCONT)
	if valid := a.line("valid"); valid != "false" {
		t.Errorf("the first read of Valid after the pause: %s", valid)
	}
	took, cause, _ := strings.Cut(a.line("done"), " ")
	if ms, err := strconv.Atoi(took); err != nil || ms > 100 || !strings.Contains(cause, "lease lost") {
		t.Errorf("the loss signal after %s ms: %s", took, cause)
	}
	mustWrite(t, server, token, "A2", "stale")

	quiet := 2 * time.Second
	if rounds(10) == 10 {
		quiet = 3 * time.Second
	}
	time.Sleep(quiet) // in which the holder could do harm
	if n := p.count("") - sent; n > 1 {
		t.Errorf("%d requests of the holder after the pause", n)
	}
	if now := server.Do("GET", "lock:job"); now != value || !lease.Valid() {
		t.Errorf("the value became %q, was %q; the lease: %v", now, value, lease.Err())
	}
	release(t, lease)
}

func TestB32ServerClockJumps(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	a := openClient(t, server.URL(), fencehold.WithTTL(3*time.Second))
	lease := acquire(t, a, "job")
	mustWrite(t, server, int64(lease.Token()), "A", "ok")
	awaitRenewal(t, lease)
	server.Do("PEXPIRE", "lock:job", "0") // what a jump forward does
	jumped := time.Now()
	next := acquire(t, openClient(t, server.URL()), "job")
	closes(t, "the loss signal", lease.Done(), time.Second)
	within(t, "the loss after the jump", time.Since(jumped), 1100*time.Millisecond)
	mustBeLost(t, lease.Err(), fencehold.ReasonTakenOver)
	if next.Token() <= lease.Token() {
		t.Errorf("token %v after %v", next.Token(), lease.Token())
	}
	mustWrite(t, server, int64(next.Token()), "B", "ok")
	mustWrite(t, server, int64(lease.Token()), "A2", "stale")
	release(t, next)
}
