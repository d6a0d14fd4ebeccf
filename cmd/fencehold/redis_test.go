package main_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster" //nolint:depguard // servers to test against
)

// The servers of the harness, under names that other tests use too.
type redisServer = testcluster.Redis

var (
	startRedis    = testcluster.StartRedis
	startReplica  = testcluster.StartReplica
	startSentinel = testcluster.StartSentinel
	startCluster  = testcluster.StartCluster
	redisConfig   = testcluster.Config
	redisPassword = testcluster.Password
	redisTLS      = testcluster.TLS
	redisSocket   = testcluster.UnixSocket
)

// newBoxAt is a box whose locks are at a URL.
func newBoxAt(t *testing.T, url string) *box {
	t.Helper()
	b := newBox(t)
	b.env = append(b.env, "FENCEHOLD_URL="+url)
	return b
}

// must runs "fencehold ARGS" and fails the test unless it ends with code.
func (b *box) must(code int, args ...string) result {
	b.t.Helper()
	r := b.run(args...)
	if r.code != code {
		b.t.Errorf("%v: exit code %d, want %d; %s%s", args, r.code, code, r.stdout, r.stderr)
	}
	return r
}

// TestRedisArrangements: every kind of URL serves every command.
func TestRedisArrangements(t *testing.T) {
	t.Parallel()
	const password = "pa@ss/w:rd"
	for name, start := range map[string]func(*testing.T) string{
		"single":   func(t *testing.T) string { return startRedis(t).URL() },
		"password": func(t *testing.T) string { return startRedis(t, redisPassword(password)).URL() },
		"database": func(t *testing.T) string { return startRedis(t).URL() + "/3?prefix=%7Bapp%7D:" },
		"tls": func(t *testing.T) string {
			r := startRedis(t, redisTLS())
			return r.URL() + "?cacert=" + r.CAFile()
		},
		"socket":   func(t *testing.T) string { return "redis+unix://" + startRedis(t, redisSocket()).Socket() },
		"sentinel": func(t *testing.T) string { return startSentinel(t, 1, 3, redisPassword(password)).URL() },
		"cluster":  func(t *testing.T) string { return startCluster(t, 3, 1, redisPassword(password)).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoxAt(t, start(t))
			b.commandsWork()
			for _, args := range [][]string{{"doctor"}, {"config", "show"}, {"run", "job", "env"}} {
				r := b.must(0, args...)
				if out := strings.ReplaceAll(r.stdout, "FENCEHOLD_URL=", ""); args[0] != "run" && strings.Contains(out+r.stderr, "ss/w") {
					t.Errorf("%v shows the password: %s%s", args, r.stdout, r.stderr)
				}
			}
			d := b.doctor(0)
			if d.worst("failure", "warning") {
				t.Errorf("the doctor finds %+v", d.Findings)
			}
		})
	}
}

// commandsWork takes a lock through its life.
func (b *box) commandsWork() {
	b.t.Helper()
	b.must(7, "run", "job", "--", "sh", "-c", "exit 7")
	var lease struct{ Holder, Token string }
	if err := json.Unmarshal([]byte(b.must(0, "acquire", "--json", "--ttl", "1m", "--owner", "me", "job").stdout), &lease); err != nil {
		b.t.Fatal(err)
	}
	b.busy("job")
	b.must(0, "check", "--holder", lease.Holder, "job")
	b.must(79, "check", "--holder", "WRONG", "job")
	b.must(0, "renew", "--ttl", "5m", "--holder", lease.Holder, "job")
	if got := b.inspect("job"); got["holder"] != lease.Holder || got["token"] != lease.Token || got["owner"] != "me" ||
		got["ttl_ms"].(float64) < 200_000 {
		b.t.Errorf("status %v of the lease %+v, renewed for 5 minutes", got, lease)
	}
	if r := b.must(0, "ls", "-o", "name"); r.stdout != "job\n" {
		b.t.Errorf("list %q, want the one lock", r.stdout)
	}
	b.must(0, "release", "--holder", lease.Holder, "job")
	b.must(79, "release", "--holder", lease.Holder, "job")
	b.free("job")
}

// TestRedisParallelCounter: increments that read and write a file, all at once,
// and none is lost.
func TestRedisParallelCounter(t *testing.T) {
	t.Parallel()
	const runs = 100
	b := newBoxAt(t, startRedis(t).URL())
	b.write("f", "0\n")
	var wg sync.WaitGroup
	outcomes := make([]error, runs)
	for i := range runs {
		wg.Go(func() {
			outcomes[i] = b.command("run", "counter", "--", "sh", "-c", "n=$(cat f); echo $((n+1)) >f").Run()
		})
	}
	wg.Wait()
	for i, err := range outcomes {
		if err != nil {
			t.Errorf("run %d: %v", i, err)
		}
	}
	if got := strings.TrimSpace(b.read("f")); got != strconv.Itoa(runs) {
		t.Errorf("counter is %s, want %d", got, runs)
	}
}

// TestB51RunWithoutScripting: a user who may not run scripts is told which right
// is missing; the command does not run, and no key is left.
func TestB51RunWithoutScripting(t *testing.T) {
	t.Parallel()
	const password = "not-to-be-shown"
	server := startRedis(t)
	server.Do("ACL", "SETUSER", "limited", "reset", "on", ">"+password, "~*", "&*", "+@all", "-@scripting")
	b := newBoxAt(t, "redis://limited:"+password+"@"+server.Addr())
	for _, args := range [][]string{{"run", "job", "--", "touch", "ran"}, {"run", "-n", "job", "--", "touch", "ran"}} {
		r := b.must(77, args...)
		if !strings.Contains(r.stderr, "lacks a right") || !strings.Contains(strings.ToLower(r.stderr), "eval") {
			t.Errorf("%v: %q does not name the right", args, r.stderr)
		}
		if strings.Contains(r.stdout+r.stderr, password) {
			t.Errorf("%v shows the password: %s%s", args, r.stdout, r.stderr)
		}
	}
	if _, err := os.Stat(b.path("ran")); err == nil {
		t.Error("the command ran without the lock")
	}
	if keys := server.Do("KEYS", "*"); keys != "" {
		t.Errorf("it left behind %q", keys)
	}
}

// TestRedisOutlivesTTLs: a lock is held for many times its TTL, by one grant.
func TestRedisOutlivesTTLs(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	server := startRedis(t)
	b := newBoxAt(t, server.URL())
	r := b.start("run", "--ttl", ttl.String(), "job", "--", "sh", "-c", "echo $$ > up; while [ ! -e stop ]; do sleep 0.05; done; exit 5")
	b.pids("up", 1)
	value := server.Do("GET", "lock:job")
	for began := time.Now(); time.Since(began) < 20*ttl; time.Sleep(ttl / 10) {
		if now := server.Do("GET", "lock:job"); now != value || value == "" {
			t.Fatalf("after %v the lock is %q, was %q; %s", time.Since(began), now, value, r.stderr)
		}
	}
	b.write("stop", "")
	if code := r.end(); code != 5 || r.stderr.String() != "" {
		t.Errorf("exit code %d, want 5 and not a word; %s", code, r.stderr)
	}
	if left := server.Do("EXISTS", "lock:job"); left != "0" {
		t.Error("the lock was not released")
	}
}

// TestRedisWatch: locks are seen coming and going.
func TestRedisWatch(t *testing.T) {
	t.Parallel()
	b := newBoxAt(t, startRedis(t).URL())
	events, err := b.command("watch", "-o", "jsonl", "--interval", "50ms"), error(nil)
	out := b.path("events")
	b.write("events", "")
	file := b.appendTo(out)
	events.Stdout = file
	if err = events.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { events.Process.Kill(); events.Wait() }()
	seen := func(what string) {
		t.Helper()
		eventually(t, what, func() bool {
			return strings.Contains(b.read("events"), `"event":"`+what+`","lock":{"schema_version":1,"name":"job"`)
		})
	}
	r := b.must(0, "acquire", "--ttl", "1m", "-o", "json", "job")
	var lease struct{ Holder string }
	if err := json.Unmarshal([]byte(r.stdout), &lease); err != nil {
		t.Fatal(err)
	}
	seen("acquired")
	b.must(0, "release", "--holder", lease.Holder, "job")
	seen("released")
}

// TestRedisCheckInside: the command of a run is told a URL without password. A
// check there says so, and works with one.
func TestRedisCheckInside(t *testing.T) {
	t.Parallel()
	url := startRedis(t, redisPassword("geheim")).URL()
	b := newBoxAt(t, "")
	r := b.must(77, "run", "--url", url, "job", "--", binary, "check")
	if !strings.Contains(r.stderr, "FENCEHOLD_BACKEND has no password") || strings.Contains(r.stderr, "geheim") {
		t.Errorf("check without the password: %s", r.stderr)
	}
	b.must(0, "run", "--url", url, "job", "--", binary, "check", "--url", url)
	newBoxAt(t, url).must(0, "run", "job", "--", binary, "check")
}

// TestRedisNoDatabase: a database that the server does not have is a mistake in
// the URL.
func TestRedisNoDatabase(t *testing.T) {
	t.Parallel()
	url := startRedis(t).URL() + "/99"
	newBox(t).must(64, "run", "--url", url, "job", "true")
	newBoxAt(t, url).must(78, "ls")
}
