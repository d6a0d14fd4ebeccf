package main_test

import (
	"strings"
	"testing"
)

// startSet starts n servers that are independent of each other and keep nothing on
// disk, and returns their addresses as a list of hosts, too.
func startSet(t *testing.T, n int) (servers []*redisServer, hosts string) {
	t.Helper()
	var addrs []string
	for range n {
		r := startRedis(t)
		servers, addrs = append(servers, r), append(addrs, r.Addr())
	}
	return servers, strings.Join(addrs, ",")
}

// eachURL are the flags that name some servers one by one.
func eachURL(servers ...*redisServer) (flags []string) {
	for _, r := range servers {
		flags = append(flags, "--url", r.URL())
	}
	return flags
}

// TestRedlockCommands: every command works on a set, however it is named, and all
// names are those of the same set.
func TestRedlockCommands(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	list := servers[0].URL() + " " + servers[1].URL() + " " + servers[2].URL()
	newBoxAt(t, "redlock://"+hosts+"?max_ttl=10m").commandsWork()
	b := newBoxAt(t, list)
	b.must(7, "run", "job", "--", "sh", "-c", "exit 7")
	flags := eachURL(servers...)
	held := b.must(0, append([]string{"acquire", "-o", "name", "--ttl", "1m"}, append(flags, "job")...)...)
	newBoxAt(t, "redlock://"+hosts).busy("job")
	b.must(0, append([]string{"release", "--holder", strings.TrimSpace(held.stdout)}, append(flags, "job")...)...)
	b.write("list.toml", "url = ['"+strings.ReplaceAll(list, " ", "', '")+"']\n")
	b.env = append(b.env, "FENCEHOLD_URL=", "FENCEHOLD_CONFIG=list.toml")
	if r := b.must(0, "config", "show"); !strings.Contains(r.stdout, list) {
		t.Errorf("settings %s, want the list %s", r.stdout, list)
	}
	b.must(0, "run", "job", "true")
}

// TestRedlockInside: a command under a lock finds its set again.
func TestRedlockInside(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	b := newBox(t)
	flags := eachURL(servers...)
	script := `echo "$FENCEHOLD_BACKEND"; unset FENCEHOLD_URL; exec ` + binary + ` check`
	r := b.must(0, append([]string{"run"}, append(flags, "job", "--", "sh", "-c", script)...)...)
	if r.stdout != "redlock://"+hosts+"\n" {
		t.Errorf("the set is named %q", r.stdout)
	}
	flags[1] += "/3"
	r = b.must(0, append([]string{"run"}, append(flags, "job", "--", "sh", "-c", script)...)...)
	if want := servers[0].URL() + "/3 " + servers[1].URL() + " " + servers[2].URL() + "\n"; r.stdout != want {
		t.Errorf("servers that differ are named %q, want %q", r.stdout, want)
	}
}

// TestRedlockURLsRefused: each is refused with the reason, and where it was given.
func TestRedlockURLsRefused(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, c := range []struct {
		urls []string
		says string
	}{
		{[]string{"redis://a", "redis://b"}, "3 at least"},
		{[]string{"redis://a", "redis://b", "redis://c", "redis://d"}, "odd number"},
		{[]string{"redis://a", "redis://b", "file:///c"}, "each must be that of one Redis server"},
		{[]string{"file:///a", "file:///b", "file:///c"}, "each must be that of one Redis server"},
		{[]string{"redis://a", "redis+sentinel://b/m", "redis://c"}, "without Sentinel"},
		{[]string{"redis://a", "redlock://a,b,c", "redis://c"}, "one server"},
		{[]string{"redis://a", "redis://:SECRET@b?prefx=x", "redis://c"}, `is "prefix" meant`},
		{[]string{"redlock://a,b"}, "3 servers at least"},
		{[]string{"redlock://a,b,c?min_replicas=1"}, "not with redlock://"},
		{[]string{"redis://a?max_ttl=5s", "redis://b?max_ttl=5s", "redis://c"}, "another max_ttl than the first"},
		{[]string{"redis://a?max_ttl=5s"}, "only with redlock://"},
	} {
		args := []string{"ls"}
		for _, url := range c.urls {
			args = append(args, "--url", url)
		}
		r := b.must(64, args...)
		if !strings.Contains(r.stderr, c.says) || !strings.Contains(r.stderr, "fencehold help urls") ||
			strings.Contains(r.stderr, "SECRET") {
			t.Errorf("%q: %s, want %q", c.urls, r.stderr, c.says)
		}
	}
	r := newBoxAt(t, "redis://a redis://b").must(78, "ls")
	if !strings.Contains(r.stderr, "FENCEHOLD_URL") || !strings.Contains(r.stderr, "3 at least") {
		t.Errorf("from the environment: %s", r.stderr)
	}
}

// TestRedlockRepair: servers that were emptied vote again, also where no majority is
// left, but not then without force.
func TestRedlockRepair(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	b := newBoxAt(t, "redlock://"+hosts+"?max_ttl=40s")
	b.must(0, "acquire", "--ttl", "40s", "job")
	servers[1].Do("FLUSHALL")
	if r := b.must(0, "redlock", "repair"); !strings.Contains(r.stdout, servers[1].Addr()+": votes again, with 1 locks copied") {
		t.Errorf("repair said %s", r.stdout)
	}
	if r := b.must(0, "redlock", "repair", "-q"); r.stdout+r.stderr != "" {
		t.Errorf("a quiet repair said %s%s", r.stdout, r.stderr)
	}
	servers[0].Kill()
	b.busy("job")

	servers, hosts = startSet(t, 3)
	b = newBoxAt(t, "redlock://"+hosts+"?max_ttl=1s")
	b.must(0, "run", "--ttl", "1s", "job", "true")
	servers[0].Do("FLUSHALL")
	servers[2].Do("FLUSHALL")
	for _, args := range [][]string{{"run", "--ttl", "1s", "-n", "job", "true"}, {"redlock", "repair"}} {
		if r := b.must(69, args...); !strings.Contains(r.stderr, "repair") && !strings.Contains(r.stderr, "--force") {
			t.Errorf("%v: %s", args, r.stderr)
		}
	}
	b.must(0, "redlock", "repair", "--force")
	b.must(0, "run", "--ttl", "1s", "-n", "job", "true")
}

// TestRedlockRepairRefused: what cannot be repaired.
func TestRedlockRepairRefused(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	b := newBoxAt(t, server.URL())
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{64, []string{"redlock", "repair"}, "redlock repair is for a Redlock set; --url names none"},
		{64, []string{"redlock", "repair", "--url", "file:///x"}, "redlock repair is for a Redlock set"},
		{64, []string{"redlock", "repair", "--url", "redis://a", "--url", "redis://b"}, "a Redlock set has 3 at least"},
		{64, []string{"redlock", "repair", "extra"}, "want none"},
		{64, []string{"redlock", "mend"}, `"mend" is not known`},
		{64, []string{"redlock", "repair", "--url", "redlock://a,b,c?max_ttl=1"}, "max_ttl"},
	} {
		if r := b.must(c.code, c.args...); !strings.Contains(r.stderr, c.says) {
			t.Errorf("%v: %s, want %q", c.args, r.stderr, c.says)
		}
	}
}

// TestDoctorOfRedlock: for each server whether it votes, and what the set promises.
func TestDoctorOfRedlock(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 5)
	b := newBoxAt(t, "redlock://"+hosts+"?max_ttl=40s")
	d := b.doctor(0)
	for _, want := range [][3]string{
		{"note", "member", "of no set yet"},
		{"note", "promise", "the first lock founds one of 5"},
		{"note", "persistence", "does not vote for 40s"},
		{"good", "server", "Redis"},
		{"good", "memory", "noeviction"},
		{"good", "latency", "median"},
		{"good", "clocks", "differ by"},
		{"good", "push", "grants"},
	} {
		if !d.has(want[0], want[1], want[2]) {
			t.Errorf("no finding %v among %+v", want, d.Findings)
		}
	}
	if d.worst("warning", "failure") || *d.Backend != "redlock" {
		t.Errorf("a new set: %+v", d)
	}
	b.must(0, "run", "--ttl", "1s", "job", "true")
	if d = b.doctor(0); !d.has("good", "member", "5 servers, for TTLs of 40s") || !d.has("good", "promise", "2 of them may fail") {
		t.Errorf("a set that is well: %+v", d.Findings)
	}
	servers[1].Do("FLUSHALL")
	if d = b.doctor(0); !d.has("warning", "member", "has lost its memory") || !d.has("warning", "promise", "4 of 5 servers vote") {
		t.Errorf("a server that was emptied: %+v", d.Findings)
	}
	b.must(0, "run", "--ttl", "1s", "job", "true")
	if d = b.doctor(0); !d.has("warning", "member", "it can vote in") {
		t.Errorf("a server that is joining: %+v", d.Findings)
	}
	servers[2].Kill()
	d = b.doctor(0)
	if !d.has("warning", "connection", "refused") || !d.has("warning", "promise", "none of them may fail now") {
		t.Errorf("a server that is down, too: %+v", d.Findings)
	}
	servers[0].Do("SET", "lock:fh!m", "3 40000")
	d = b.doctor(69)
	if !d.has("failure", "member", "this client names 5 servers, the set of this one has 3") || !d.has("failure", "promise", "there are no locks now") {
		t.Errorf("a server of another set: %+v", d.Findings)
	}
	servers[3].Kill()
	servers[4].Kill()
	if d = b.doctor(69); !d.has("good", "rights", "scripts run") || !d.has("failure", "connection", servers[3].Addr()) {
		t.Errorf("three of five are down: %+v", d.Findings)
	}
}

// TestDoctorOfRedlockPersistence: what brings back an old state is worse than what
// keeps nothing.
func TestDoctorOfRedlockPersistence(t *testing.T) {
	t.Parallel()
	flags := eachURL(
		startRedis(t, redisConfig("appendonly", "yes"), redisConfig("appendfsync", "always")),
		startRedis(t, redisConfig("appendonly", "yes"), redisConfig("appendfsync", "everysec")),
		startRedis(t, redisConfig("save", "3600 1")),
	)
	d := newBox(t).doctor(0, flags...)
	for _, want := range [][3]string{
		{"good", "persistence", "appendfsync always"},
		{"warning", "persistence", "appendfsync everysec"},
		{"warning", "persistence", "snapshots (save 3600 1)"},
	} {
		if !d.has(want[0], want[1], want[2]) {
			t.Errorf("no finding %v among %+v", want, d.Findings)
		}
	}
}
