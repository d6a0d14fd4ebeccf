package redisurl_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// password has every character that URLs give a meaning, encoded is its form.
const (
	password = "p@s/s+#%=:w rd"
	encoded  = "p%40s%2Fs+%23%25=:w%20rd"
)

// defaults is what redis://h means, changed.
func defaults(change func(u *redisurl.URL)) redisurl.URL {
	u := redisurl.URL{
		Network: "tcp", Addrs: []string{"h:6379"}, Prefix: "lock:",
		ReplicaTimeout: time.Second, DialTimeout: 5 * time.Second, ClientName: "fencehold",
	}
	change(&u)
	return u
}

// accepted are URLs, what they mean, and their canonical form, which has no
// password.
var accepted = []struct {
	raw, canonical string
	change         func(u *redisurl.URL)
}{
	{"redis://h", "redis://h:6379", func(*redisurl.URL) {}},
	{"valkey://H:6379/?", "redis://h:6379", func(*redisurl.URL) {}},
	{"rediss://h", "rediss://h:6379", func(u *redisurl.URL) { u.TLS = true }},
	{"valkeys://h:1", "rediss://h:1", func(u *redisurl.URL) { u.TLS, u.Addrs = true, []string{"h:1"} }},
	{"redis://h/3", "redis://h:6379/3", func(u *redisurl.URL) { u.DB = 3 }},
	{"redis://h?db=3", "redis://h:6379/3", func(u *redisurl.URL) { u.DB = 3 }},
	{"redis://h/1000000?db=1000000", "redis://h:6379/1000000", func(u *redisurl.URL) { u.DB = 1_000_000 }},
	{
		"redis://10.0.0.1:65535", "redis://10.0.0.1:65535",
		func(u *redisurl.URL) { u.Addrs = []string{"10.0.0.1:65535"} },
	},
	{"redis://[::1]", "redis://[::1]:6379", func(u *redisurl.URL) { u.Addrs = []string{"[::1]:6379"} }},
	{"redis://[0:0::1]:7", "redis://[::1]:7", func(u *redisurl.URL) { u.Addrs = []string{"[::1]:7"} }},
	{
		"redis://[fe80::1%25eth0]", "redis://[fe80::1%25eth0]:6379",
		func(u *redisurl.URL) { u.Addrs = []string{"[fe80::1%eth0]:6379"} },
	},
	{
		"redis://my_db-1.svc.:07", "redis://my_db-1.svc.:7",
		func(u *redisurl.URL) { u.Addrs = []string{"my_db-1.svc.:7"} },
	},

	{"redis://:" + encoded + "@h", "redis://h:6379", func(u *redisurl.URL) { u.Password = password }},
	{
		"redis://us%3Aer:" + encoded + "@h/2", "redis://us%3Aer:@h:6379/2",
		func(u *redisurl.URL) { u.Username, u.Password, u.DB = "us:er", password, 2 },
	},
	{"redis://:p%2540@h", "redis://h:6379", func(u *redisurl.URL) { u.Password = "p%40" }},
	{"redis://:a,b[c]&d@h", "redis://h:6379", func(u *redisurl.URL) { u.Password = "a,b[c]&d" }},
	{"redis://:pä@h", "redis://h:6379", func(u *redisurl.URL) { u.Password = "pä" }},
	{"redis://@h", "redis://h:6379", func(*redisurl.URL) {}},
	{"redis://:@h", "redis://h:6379", func(*redisurl.URL) {}},
	{"redis://u+x:@h", "redis://u%2Bx:@h:6379", func(u *redisurl.URL) { u.Username = "u+x" }},
	{
		"redis://u@h?password_file=/run/s", "redis://u:@h:6379?password_file=/run/s",
		func(u *redisurl.URL) { u.Username, u.PasswordFile = "u", "/run/s" },
	},

	{
		"unix:///run/redis.sock", "redis+unix:///run/redis.sock",
		func(u *redisurl.URL) { u.Network, u.Addrs = "unix", []string{"/run/redis.sock"} },
	},
	{
		"valkey+unix://u:" + encoded + "@/a%20b%40%3F?db=2", "redis+unix://u:@/a%20b%40%3F?db=2",
		func(u *redisurl.URL) {
			u.Network, u.Addrs, u.DB = "unix", []string{"/a b@?"}, 2
			u.Username, u.Password = "u", password
		},
	},

	{
		"redis+sentinel://u:" + encoded + "@a,b:1/my%2Fmaster/4" +
			"?sentinel_username=s%26&sentinel_password=" + encoded,
		"redis+sentinel://u:@a:26379,b:1/my%2Fmaster/4?sentinel_username=s%26",
		func(u *redisurl.URL) {
			u.Mode, u.Addrs, u.Master, u.DB = redisurl.Sentinel, []string{"a:26379", "b:1"}, "my/master", 4
			u.Username, u.Password, u.SentinelUsername, u.SentinelPassword = "u", password, "s&", password
		},
	},
	{
		"valkeys+sentinel://h/m?db=1&sentinel_password_file=s", "rediss+sentinel://h:26379/m/1?sentinel_password_file=s",
		func(u *redisurl.URL) {
			u.Mode, u.TLS, u.Addrs, u.Master, u.DB = redisurl.Sentinel, true, []string{"h:26379"}, "m", 1
			u.SentinelPasswordFile = "s"
		},
	},
	{
		"redis-sentinel://h/1?sentinelMasterId=m", "redis+sentinel://h:26379/m/1",
		func(u *redisurl.URL) {
			u.Mode, u.Addrs, u.Master, u.DB = redisurl.Sentinel, []string{"h:26379"}, "m", 1
		},
	},
	{
		"rediss-sentinel://h?master=m", "rediss+sentinel://h:26379/m",
		func(u *redisurl.URL) {
			u.Mode, u.TLS, u.Addrs, u.Master = redisurl.Sentinel, true, []string{"h:26379"}, "m"
		},
	},
	{
		"redis+cluster://:" + encoded + "@a,[::2]:1/0", "redis+cluster://a:6379,[::2]:1",
		func(u *redisurl.URL) {
			u.Mode, u.Addrs, u.Password = redisurl.Cluster, []string{"a:6379", "[::2]:1"}, password
		},
	},
	{
		"valkeys+cluster://h", "rediss+cluster://h:6379",
		func(u *redisurl.URL) { u.Mode, u.TLS = redisurl.Cluster, true },
	},
	{
		"redlock://u:" + encoded + "@A,b:1,[::1]/2?max_ttl=90s&drift=2e-2&node_timeout=50ms",
		"redlock://u:@a:6379,b:1,[::1]:6379/2?max_ttl=1m30s&drift=0.02&node_timeout=50ms",
		func(u *redisurl.URL) {
			u.Mode, u.Addrs, u.DB = redisurl.Redlock, []string{"a:6379", "b:1", "[::1]:6379"}, 2
			u.Username, u.Password = "u", password
			u.MaxTTL, u.Drift, u.NodeTimeout = 90*time.Second, 0.02, 50*time.Millisecond
		},
	},
	{
		"valkeys+redlock://a,b,c?drift=0.01&max_ttl=60s", "redlocks://a:6379,b:6379,c:6379?max_ttl=1m0s",
		func(u *redisurl.URL) {
			u.Mode, u.TLS, u.Addrs = redisurl.Redlock, true, []string{"a:6379", "b:6379", "c:6379"}
			u.MaxTTL, u.Drift = time.Minute, 0.01
		},
	},
	{
		"redlock://a,b,c", "redlock://a:6379,b:6379,c:6379", func(u *redisurl.URL) {
			u.Mode, u.Addrs, u.Drift = redisurl.Redlock, []string{"a:6379", "b:6379", "c:6379"}, 0.01
		},
	},

	{"redis://h?prefix=", "redis://h:6379?prefix=", func(u *redisurl.URL) { u.Prefix = "" }},
	{
		"redis://h?prefix=%7Bapp%7D+ä:", "redis://h:6379?prefix=%7Bapp%7D%2B%C3%A4:",
		func(u *redisurl.URL) { u.Prefix = "{app}+ä:" },
	},
	{
		"redis://h?min_replicas=16&replica_timeout=1ms&dial_timeout=1m30s&client_name=a%40b",
		"redis://h:6379?min_replicas=16&replica_timeout=1ms&dial_timeout=1m30s&client_name=a%40b",
		func(u *redisurl.URL) {
			u.MinReplicas, u.ReplicaTimeout, u.DialTimeout = 16, time.Millisecond, 90*time.Second
			u.ClientName = "a@b"
		},
	},
	{
		"rediss://h?insecure=true&servername=::1&key=k&cert=c&cacert=/a%26b",
		"rediss://h:6379?cacert=/a%26b&cert=c&key=k&servername=::1&insecure=true",
		func(u *redisurl.URL) {
			u.TLS, u.Insecure, u.ServerName, u.Key, u.Cert, u.CACert = true, true, "::1", "k", "c", "/a&b"
		},
	},
}

func TestParse(t *testing.T) {
	for _, c := range accepted {
		u, err := redisurl.Parse(c.raw)
		if err != nil {
			t.Errorf("%q: %v", c.raw, err)
			continue
		}
		if want := defaults(c.change); !reflect.DeepEqual(*u, want) {
			t.Errorf("%q: read as\n%+v, want\n%+v", c.raw, fields(*u), fields(want))
		}
	}
}

// fields is u without its methods, so that it is printed field by field.
func fields(u redisurl.URL) any {
	type plain redisurl.URL
	return plain(u)
}

func TestSchemes(t *testing.T) {
	names := redisurl.Schemes()
	if !slices.IsSorted(names) || len(names) != 17 {
		t.Errorf("schemes: %q", names)
	}
	for _, name := range names {
		tail := "://h/0"
		switch name {
		case "unix", "redis+unix", "valkey+unix":
			tail = ":///h"
		case "redis-sentinel", "rediss-sentinel":
			tail = "://h/0?master=m"
		}
		u, err := redisurl.Parse(name + tail)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantTLS := strings.HasPrefix(name, "rediss") || strings.HasPrefix(name, "valkeys")
		if u.TLS != wantTLS {
			t.Errorf("%s: TLS %v", name, u.TLS)
		}
	}
}

// TestRedlockSchemes: those of Redlock are apart, and read as such.
func TestRedlockSchemes(t *testing.T) {
	names := redisurl.RedlockSchemes()
	want := []string{"redis+redlock", "rediss+redlock", "redlock", "redlocks", "valkey+redlock", "valkeys+redlock"}
	if !slices.Equal(names, want) {
		t.Fatalf("schemes: %q, want %q", names, want)
	}
	for _, name := range names {
		u, err := redisurl.Parse(name + "://a,b,c")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantTLS := strings.Contains(name, "ss+") || strings.Contains(name, "ys+") || name == "redlocks"
		if u.Mode != redisurl.Redlock || u.TLS != wantTLS {
			t.Errorf("%s: mode %v, TLS %v", name, u.Mode, u.TLS)
		}
	}
}
