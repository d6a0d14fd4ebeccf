package main_test

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// A diagnosis is what "fencehold doctor --json" prints.
type diagnosis struct {
	URL      string
	Backend  *string
	Features []string
	Worst    string
	Findings []struct{ Grade, Server, Subject, Text string }
}

// doctor runs it and reads what it found.
func (b *box) doctor(code int, args ...string) diagnosis {
	b.t.Helper()
	r := b.must(code, append([]string{"doctor", "--json"}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
		b.t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	return d
}

// worst reports whether a finding has one of the grades.
func (d diagnosis) worst(grades ...string) bool {
	for _, f := range d.Findings {
		if slices.Contains(grades, f.Grade) {
			return true
		}
	}
	return false
}

// has reports whether there is such a finding; text is a part.
func (d diagnosis) has(grade, subject, text string) bool {
	for _, f := range d.Findings {
		if f.Grade == grade && f.Subject == subject && strings.Contains(f.Text, text) {
			return true
		}
	}
	return false
}

func TestDoctorOfGoodServer(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	b := newBoxAt(t, server.URL())
	d := b.doctor(0)
	for _, want := range [][3]string{
		{"good", "server", "Redis"},
		{"note", "persistence", "forgets every lock"},
		{"good", "memory", "noeviction"},
		{"good", "clock", "our clock"},
		{"good", "latency", "median"},
		{"good", "user", "default"},
		{"good", "rights", "scripts run"},
		{"good", "rights", "SCAN"},
		{"good", "push", "grants"},
		{"good", "push", "revocations"},
		{"note", "promise", "a restart forgets every lock: another client"},
		{"note", "promise", "fencing tokens go on rising"},
	} {
		if !d.has(want[0], want[1], want[2]) {
			t.Errorf("no finding %v among %+v", want, d.Findings)
		}
	}
	if d.worst("warning", "failure") || d.Worst != "note" || d.URL != server.URL() || *d.Backend != "redis" {
		t.Errorf("diagnosis %+v", d)
	}
	if keys := server.Do("KEYS", "*"); keys != "" {
		t.Errorf("it left behind %q", keys)
	}
	text := b.must(0, "doctor").stdout
	if !strings.HasPrefix(text, "url        "+server.URL()+"\n") || !strings.Contains(text, "\ngood   memory ") {
		t.Errorf("text %s", text)
	}
	if lines := b.must(0, "doctor", "-o", "jsonl").stdout; strings.Count(lines, "\n") != len(d.Findings) {
		t.Errorf("%d findings as lines: %s", len(d.Findings), lines)
	}
}

// TestDoctorWarns: what can break a promise is a warning, and no failure.
func TestDoctorWarns(t *testing.T) {
	t.Parallel()
	for policy, says := range map[string]string{
		"allkeys-lru": "a held lock too", "volatile-lru": "every lock is one", "volatile-ttl": "those are the locks",
	} {
		server := startRedis(t, redisConfig("maxmemory", "100mb"), redisConfig("maxmemory-policy", policy))
		d := newBoxAt(t, server.URL()).doctor(0)
		if !d.has("warning", "memory", says) || !d.has("warning", "memory", policy) || d.Worst != "warning" {
			t.Errorf("%s: %+v", policy, d.Findings)
		}
	}
}

// TestDoctorOfArrangement: what is wrong about how servers belong together.
func TestDoctorOfArrangement(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	replica := startReplica(t, server)
	cluster := startCluster(t, 3, 0)
	sentinel := startSentinel(t, 0, 1)
	for _, c := range []struct {
		name, url            string
		code                 int
		grade, subject, text string
	}{
		{"replica", replica.URL(), 69, "failure", "role", "replica"},
		{"replicas confirm", server.URL() + "?min_replicas=1", 0, "good", "min_replicas", "1 of 1"},
		{"too few replicas", server.URL() + "?min_replicas=2&replica_timeout=100ms", 69, "failure", "min_replicas", "1 of 2"},
		{"node of a cluster", cluster.Nodes()[0].URL(), 69, "failure", "server", "redis+cluster://"},
		{"no replicas", cluster.URL(), 0, "warning", "replicas", "nobody takes over"},
		{"cluster, prefix with a tag", cluster.URL() + "?prefix=%7Bapp%7D:", 0, "good", "rights", "scripts run"},
		{"promise of a failover", cluster.URL(), 0, "note", "promise", "a failover can forget"},
		{"past Sentinel", sentinel.Servers()[0].URL(), 0, "warning", "sentinels", "redis+sentinel://"},
		{"one Sentinel", sentinel.URL(), 0, "warning", "sentinels", "fewer than 3"},
	} {
		d := newBoxAt(t, c.url).doctor(c.code)
		if !d.has(c.grade, c.subject, c.text) {
			t.Errorf("%s: no %s %q with %q among %+v", c.name, c.grade, c.subject, c.text, d.Findings)
		}
	}
	for _, node := range append(cluster.Nodes(), server) {
		if keys := node.Do("KEYS", "*"); keys != "" {
			t.Errorf("it left behind %q", keys)
		}
	}
}

// minimal are the rights that package redislock says are enough, but for one that
// clients do without and servers before 7.2 do not know: client|setinfo.
const minimal = "~lock:* &lock:* +@scripting +ping +hello +client|tracking +client|setname +role +wait +scan " +
	"+get +set +del +exists +pttl +pexpire +time +type +zadd +zrem +zrange +zrank +zscore +zcard " +
	"+publish +spublish +subscribe +ssubscribe +unsubscribe +sunsubscribe +punsubscribe +discard +pubsub " +
	"+cluster|slots +cluster|shards"

// TestDoctorOfUsers: what a user may not do is found out, and what it may not
// see is no failure.
func TestDoctorOfUsers(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	for _, c := range []struct {
		rights               string // beyond the minimal ones
		code                 int
		grade, subject, text string
	}{
		{"", 0, "note", "server", "not allowed to see"},
		{"", 0, "note", "persistence", "not allowed to see"},
		{"", 0, "note", "memory", "not allowed to see"},
		{"", 0, "note", "user", "not allowed to see"},
		{"", 0, "good", "rights", "scripts run"},
		{"", 0, "good", "push", "grants"},
		{"+acl|whoami", 0, "good", "user", "limited"},
		{"-subscribe", 0, "warning", "push", "waiting is polling"},
		{"resetchannels &other:*", 0, "warning", "push", "with its next renewal"},
		{"-publish", 0, "warning", "push", "waiting is polling"},
		{"-scan", 0, "warning", "rights", "listing locks fails"},
		{"-@scripting", 69, "failure", "rights", "taking a lock fails"},
		{"-zadd", 69, "failure", "rights", "waiting for a lock fails"},
		{"-pexpire", 69, "failure", "rights", "fails"},
		{"resetkeys ~other:*", 69, "failure", "rights", "taking a lock fails"},
	} {
		rights := append(strings.Fields(minimal), strings.Fields(c.rights)...)
		server.Do(append([]string{"ACL", "SETUSER", "limited", "reset", "on", ">geheim"}, rights...)...)
		b := newBoxAt(t, "redis://limited:geheim@"+server.Addr())
		d := b.doctor(c.code)
		if !d.has(c.grade, c.subject, c.text) || (c.code == 0) == d.worst("failure") {
			t.Errorf("%q: no %s %q with %q among %+v", c.rights, c.grade, c.subject, c.text, d.Findings)
		}
		if c.code == 0 {
			b.free("job")
		}
	}
	server.Do("DEL", "lock:fh!c") // the counter of those runs
	if keys := server.Do("KEYS", "*"); keys != "" {
		t.Errorf("it left behind %q", keys)
	}
}

// TestRefusedConnections: a service that cannot be reached, or refuses who we
// are, is told apart, in time and without the password, by every command.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	const secret = "geheim"
	server := startRedis(t, redisPassword("another"))
	frozen := startRedis(t)
	frozen.Pause()
	for _, c := range []struct {
		name, url string
		code      int
		says      string
	}{
		{"wrong password", "redis://:" + secret + "@" + server.Addr(), 77, "password is wrong"},
		{"no password", "redis://" + server.Addr(), 77, "wants a password"},
		{"nobody there", "redis://u:" + secret + "@" + closedPort(t), 69, "connection refused"},
		{"nobody there, cluster", "redis+cluster://u:" + secret + "@" + closedPort(t), 69, "connection refused"},
		{"no answer", "redis://:" + secret + "@" + frozen.Addr() + "?dial_timeout=700ms", 69, "deadline"},
		{"no socket", "redis+unix://:" + secret + "@/nowhere/redis.sock", 69, "no such file"},
	} {
		b := newBoxAt(t, c.url)
		for _, args := range [][]string{
			{"doctor"},
			{"doctor", "--json"},
			{"ls"},
			{"run", "job", "true"},
			{"acquire", "--ttl", "1m", "job"},
			{"unlock", "--force", "job"},
		} {
			r := b.must(c.code, args...)
			if out := r.stdout + r.stderr; strings.Contains(out, secret) || !strings.Contains(out, c.says) {
				t.Errorf("%s: %v: %s, want %q and no password", c.name, args, out, c.says)
			}
			if r.took > 700*time.Millisecond+4*slack {
				t.Errorf("%s: %v: took %v", c.name, args, r.took)
			}
		}
	}
}

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestBadRedisURLs: a URL with a mistake in it is one of the flag or of the
// configuration, and its password is not shown.
func TestBadRedisURLs(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for url, says := range map[string]string{
		"redis://:geheim@a,b":              "takes one",
		"redis://:geheim@a:b":              "port must be a number",
		"redis://:geheim@a?prefx=x":        `is "prefix" meant?`,
		"redis+sentinel://:geheim@a":       "master: missing",
		"redis+cluster://:geheim@a/1":      "database 0 only",
		"redis://geheim@a":                 "write USER:PASSWORD@",
		"rediss://:geheim@a?cacert=/no/ca": "/no/ca",
	} {
		for _, command := range [][]string{{"doctor"}, {"run", "job", "true"}, {"ls"}} {
			r := b.must(64, slices.Insert(slices.Clone(command), 1, "--url", url)...)
			if !strings.Contains(r.stderr, says) || !strings.HasSuffix(r.stderr, "; see fencehold help urls\n") || strings.Contains(r.stdout+r.stderr, "geheim") || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%s: stderr %q, want one line with %q", url, r.stderr, says)
			}
			r = newBoxAt(t, url).must(78, command...)
			if strings.Contains(r.stdout+r.stderr, "geheim") || !strings.HasSuffix(r.stderr, "; see fencehold help urls\n") {
				t.Errorf("%s: %s%s, want a pointer to the help, and no password", url, r.stdout, r.stderr)
			}
		}
	}
}

// TestDoctorOfFiles: a service that cannot be examined says what it is.
func TestDoctorOfFiles(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	d := b.doctor(0)
	if *d.Backend != "file" || !slices.Contains(d.Features, "durable") || len(d.Findings) != 0 || d.Worst != "good" {
		t.Errorf("diagnosis %+v", d)
	}
	if r := b.must(0, "doctor"); !strings.HasPrefix(r.stdout, "url        file://"+b.locks) || !strings.Contains(r.stdout, "power cuts") {
		t.Errorf("text %q", r.stdout)
	}
	b.must(64, "doctor", "more")
	b.must(64, "doctor", "-o", "yaml")
}
