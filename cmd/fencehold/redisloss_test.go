package main_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// appendTo opens a file for a command to write to.
func (b *box) appendTo(path string) *os.File {
	b.t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { f.Close() })
	return f
}

// TestRedisUnlockIsPushed: a run whose lease has long to go stops its command at
// once when its lock is taken away, and says who did it and why.
func TestRedisUnlockIsPushed(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"single": startRedis(t).URL(), "cluster": startCluster(t, 3, 0).URL(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoxAt(t, url)
			r := b.start("run", "--ttl", "10m", "job", "--", "sh", "-c", family)
			pids := append(b.pids("up", 2), b.pids("kid", 1)...)
			b.listens("job")
			b.must(0, "unlock", "--force", "--reason", "maintenance tonight", "job")
			within(t, time.Second+slack, "the command is gone", func() bool { return gone(pids...) })
			if code := r.end(); code != 79 {
				t.Errorf("exit code %d, want 79", code)
			}
			host, _ := os.Hostname()
			text := r.stderr.String()
			if strings.Count(text, "\n") != 1 || !strings.Contains(text, "maintenance tonight") || !strings.Contains(text, "by "+host) {
				t.Errorf("stderr %q, want one line with the reason and who it was", text)
			}
			b.free("job")
		})
	}
}

// listens waits until the holder of a lock hears of losses: it begins to listen
// with its first grant, and does not wait for that.
func (b *box) listens(lock string) {
	b.t.Helper()
	eventually(b.t, "the holder listens", func() bool { return b.inspect(lock)["held"] == true })
	time.Sleep(slack)
}

// TestRedisLosses: however the lock is lost, the whole command is gone before
// its time is over, even one that does not want to end.
func TestRedisLosses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		lose       func(*redisServer)
	}{
		{"deleted", "deleted", func(r *redisServer) { r.Do("DEL", "lock:job") }},
		{"replaced", "taken over", func(r *redisServer) { r.Do("SET", "lock:job", "another", "PX", "60000") }},
		{"flushed", "deleted", func(r *redisServer) { r.Do("FLUSHALL") }},
		{"killed", "not renewed in time", func(r *redisServer) { r.Kill() }},
		{"frozen", "not renewed in time", func(r *redisServer) { r.Pause() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			b := newBoxAt(t, server.URL())
			stubborn := `trap "" TERM; work() { while :; do date +%s%N >> work; sleep 0.02; done; }; work & echo $$ $! > up; work`
			r := b.start("run", "--ttl", "4s", "-k", "300ms", "job", "--", "sh", "-c", stubborn)
			pids := b.pids("up", 2)
			expiry := renewalOf(t, server, "lock:job")
			c.lose(server)
			if code := r.end(); code != 79 || !gone(pids...) {
				t.Errorf("exit code %d, want 79 and nothing left; %s", code, r.stderr)
			}
			if last := b.lastWork(); !last.Before(expiry) {
				t.Errorf("the command worked %v after the lock could be granted again", last.Sub(expiry))
			}
			if text := r.stderr.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, c.says) {
				t.Errorf("stderr %q, want one line with %q", text, c.says)
			}
		})
	}
}

// lastWork is the last time that the command wrote down.
func (b *box) lastWork() time.Time {
	b.t.Helper()
	lines := strings.Fields(b.read("work"))
	last := int64(0)
	for _, line := range lines {
		ns, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			b.t.Fatal(err)
		}
		last = max(last, ns)
	}
	return time.Unix(0, last)
}

// renewalOf waits for a renewal of a key, after which the next one takes a
// while, and returns when the key expires.
func renewalOf(t *testing.T, server *redisServer, key string) time.Time {
	t.Helper()
	first := server.Do("PEXPIRETIME", key)
	last := first
	eventually(t, "the lock is renewed", func() bool {
		last = server.Do("PEXPIRETIME", key)
		return last != first
	})
	ms, err := strconv.ParseInt(last, 10, 64)
	if err != nil || ms <= 0 {
		t.Fatalf("expiry %q: %v", last, err)
	}
	return time.UnixMilli(ms)
}
