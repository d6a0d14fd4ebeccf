package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRedlockBareMajority: who holds a lock on a bare majority is warned once, and told
// which server does not have it.
func TestRedlockBareMajority(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	b := newBoxAt(t, "redlock://"+hosts)
	if r := b.must(0, "run", "hold", "true"); r.stderr != "" {
		t.Errorf("on all servers: %s", r.stderr)
	}
	servers[1].Kill()
	text := `lock %s: on 2 of 3 servers (not on ` + servers[1].Addr() + `), none to spare`
	if r := b.must(0, "run", "hold", "sleep", "0.5"); r.stderr != "fencehold: "+fmt.Sprintf(text, `"hold"`)+"\n" {
		t.Errorf("run said %s", r.stderr)
	}
	r := b.must(0, "run", "--log-format", "json", "hold", "sleep", "0.5")
	if strings.Count(r.stderr, fmt.Sprintf(text, `\"hold\"`)) != 1 || !strings.Contains(r.stderr, `"level":"warn"`) {
		t.Errorf("run said %s", r.stderr)
	}
	if r := b.must(0, "run", "-q", "hold", "sleep", "0.5"); r.stderr != "" {
		t.Errorf("a quiet run said %s", r.stderr)
	}
	if r := b.must(0, "acquire", "kept"); r.stderr != "fencehold: "+fmt.Sprintf(text, `"kept"`)+"\n" {
		t.Errorf("acquire said %s", r.stderr)
	}
}

// TestDoctorTellsWhatAcquireWould: where no lock can be had, doctor fails, and nothing
// that it promises is good.
func TestDoctorTellsWhatAcquireWould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		servers int // of which three are named
		max     string
		harm    func([]*redisServer)
		code    int // of a run
		says    string
	}{
		{"longer TTLs", 3, "1m", func([]*redisServer) {}, 64, "max_ttl 1m0s: the set was founded with 5s"},
		{"markers deleted", 3, "5s", func(s []*redisServer) {
			for _, r := range s {
				r.Do("DEL", "lock:fh!m")
			}
			s[1].Do("SET", "lock:fh!j", "1")
		}, 69, "0 of 3 servers know the set"},
		{"three of five", 5, "5s", func([]*redisServer) {}, 64, "this client names 3 servers, and the set has 5"},
		{"memory lost", 3, "5s", func(s []*redisServer) {
			s[0].Do("FLUSHALL")
			s[1].Do("FLUSHALL")
		}, 69, "1 of 3 servers knows the set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			servers, hosts := startSet(t, c.servers)
			newBoxAt(t, "redlock://"+hosts+"?max_ttl=5s").must(0, "run", "--ttl", "1s", "job", "true")
			c.harm(servers)
			named := strings.Join(strings.Split(hosts, ",")[:3], ",")
			b := newBoxAt(t, "redlock://"+named+"?max_ttl="+c.max)
			r := b.must(c.code, "run", "--ttl", "1s", "-n", "job", "true")
			if !strings.Contains(r.stderr, c.says) {
				t.Errorf("run said %s, want %q", r.stderr, c.says)
			}
			d := b.doctor(69)
			if !d.has("failure", "promise", "there are no locks now: "+c.says) || d.has("good", "promise", "") {
				t.Errorf("found %+v", d.Findings)
			}
			if d.has("warning", "member", "it can vote in") || d.has("warning", "member", "lets it join") {
				t.Errorf("promises a vote: %+v", d.Findings)
			}
			for _, args := range [][]string{{"ls"}, {"inspect", "job"}, {"check", "--holder", "H", "--token", "7", "job"}} {
				if c.name != "longer TTLs" {
					if r := b.must(c.code, args...); !strings.Contains(r.stderr, c.says) {
						t.Errorf("%v said %s, want %q", args, r.stderr, c.says)
					}
				}
			}
		})
	}
}

// TestReplicaInASet: it is refused, as a node that cannot be asked for a lock.
func TestReplicaInASet(t *testing.T) {
	t.Parallel()
	servers, _ := startSet(t, 2)
	replica := startReplica(t, servers[0])
	b := newBoxAt(t, "redlock://"+servers[0].Addr()+","+servers[1].Addr()+","+replica.Addr())
	for _, args := range [][]string{{"run", "job", "true"}, {"doctor"}} {
		if r := b.must(78, args...); !strings.Contains(r.stderr, replica.Addr()+" is a replica") {
			t.Errorf("%v said %s%s", args, r.stdout, r.stderr)
		}
	}
}

// TestRedlockRefusedCredentials: a set that refuses the user ends with 77, one that
// lacks servers for another reason with 69, and what answers counts as answering.
func TestRedlockRefusedCredentials(t *testing.T) {
	t.Parallel()
	servers := []*redisServer{
		startRedis(t, redisPassword("right")), startRedis(t, redisPassword("right")), startRedis(t, redisPassword("right")),
	}
	hosts := servers[0].Addr() + "," + servers[1].Addr() + "," + servers[2].Addr()
	wrong := newBoxAt(t, "redlock://:wrong@"+hosts)
	for _, args := range [][]string{{"run", "job", "true"}, {"doctor"}} {
		wrong.must(77, args...)
	}
	servers[0].Kill()
	servers[1].Kill()
	r := newBoxAt(t, "redlock://:right@"+hosts).must(69, "run", "job", "true")
	if !strings.Contains(r.stderr, "1 of 3 servers answers, and it takes 2") || strings.Contains(r.stderr, servers[2].Addr()) {
		t.Errorf("run said %s", r.stderr)
	}
	wrong.must(69, "run", "job", "true")
}

// TestRedlockSilentServer: what does not answer is named once, with how long that took.
func TestRedlockSilentServer(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	b := newBoxAt(t, "redlock://"+hosts+"?dial_timeout=700ms")
	b.must(0, "run", "job", "true")
	servers[2].Pause()
	defer servers[2].Resume()
	d := b.doctor(0)
	if !d.has("warning", "connection", "no answer in 700ms") || d.has("warning", "connection", servers[2].Addr()) {
		t.Errorf("found %+v", d.Findings)
	}
}

// TestRedlockTakesTheSetsMaxTTL: a client that names no longest TTL has that of the set.
func TestRedlockTakesTheSetsMaxTTL(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	var flags []string
	for _, r := range servers {
		flags = append(flags, "--url", r.URL()+"?max_ttl=5m")
	}
	b := newBoxAt(t, "redlock://"+hosts)
	b.must(0, append([]string{"run", "--ttl", "5m"}, append(flags, "job", "true")...)...)
	b.must(0, "run", "--ttl", "2m", "job", "true")
	if r := b.must(64, "run", "--ttl", "6m", "job", "true"); !strings.Contains(r.stderr, "5m0s") {
		t.Errorf("a longer TTL: %s", r.stderr)
	}
	if d := b.doctor(0); !d.has("good", "member", "for TTLs of 5m0s") || !d.has("note", "persistence", "does not vote for 5m0s") {
		t.Errorf("found %+v", d.Findings)
	}
}

// TestRepairWithAServerDown: what cannot be reached is said to be that.
func TestRepairWithAServerDown(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	b := newBoxAt(t, "redlock://"+hosts)
	b.must(0, "run", "job", "true")
	servers[2].Kill()
	began := time.Now()
	r := b.must(69, "redlock", "repair")
	if !strings.Contains(r.stdout, "2 of 3 servers vote; 1 cannot be reached") || strings.Contains(r.stdout, "none has lost") ||
		!strings.Contains(r.stderr, servers[2].Addr()+" cannot be reached") {
		t.Errorf("after %v: %s%s", time.Since(began), r.stdout, r.stderr)
	}
}

// TestMinHoldOfRedlock: a set cannot keep a lock that is released.
func TestMinHoldOfRedlock(t *testing.T) {
	t.Parallel()
	_, hosts := startSet(t, 3)
	r := newBoxAt(t, "redlock://"+hosts).must(64, "run", "--min-hold", "5s", "job", "true")
	if !strings.Contains(r.stderr, "--min-hold: a lock of redlock is free as soon as it is released") {
		t.Errorf("run said %s", r.stderr)
	}
}

// TestRedlockOptionsInEachURL: servers named one by one may have the options of a set,
// which a command under the lock finds again.
func TestRedlockOptionsInEachURL(t *testing.T) {
	t.Parallel()
	servers, hosts := startSet(t, 3)
	var flags []string
	for _, r := range servers {
		flags = append(flags, "--url", r.URL()+"?max_ttl=40s&node_timeout=300ms")
	}
	b := newBox(t)
	script := `echo "$FENCEHOLD_BACKEND"; unset FENCEHOLD_URL; exec ` + binary + ` check`
	r := b.must(0, append([]string{"run"}, append(flags, "job", "--", "sh", "-c", script)...)...)
	if want := "redlock://" + hosts + "?max_ttl=40s&node_timeout=300ms\n"; r.stdout != want {
		t.Errorf("named %q, want %q", r.stdout, want)
	}
	flags[1] += "&db=2"
	r = b.must(0, append([]string{"run", "--ttl", "1s"}, append(flags, "job", "--", "sh", "-c", script)...)...)
	if !strings.Contains(r.stdout, servers[1].URL()+"?max_ttl=40s&node_timeout=300ms ") {
		t.Errorf("servers that differ are named %q", r.stdout)
	}
}
