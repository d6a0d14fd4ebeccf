package redisurl_test

import (
	"reflect"
	"testing"

	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

func mustParse(t *testing.T, raw string) redisurl.URL {
	t.Helper()
	u, err := redisurl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return *u
}

// TestNodes: each server has a URL of its own, and they make the set again.
func TestNodes(t *testing.T) {
	set := mustParse(t, "redlocks://u:"+encoded+"@a,b:1,[::1]/2?max_ttl=2s&drift=0.1&node_timeout=1s&prefix=p&insecure=1")
	nodes := set.Nodes()
	for i, raw := range []string{"rediss://u:" + encoded + "@a/2", "rediss://u:" + encoded + "@b:1/2", "rediss://u:" + encoded + "@[::1]/2"} {
		if want := mustParse(t, raw+"?prefix=p&insecure=1"); !reflect.DeepEqual(nodes[i], want) {
			t.Errorf("server %d: %+v, want %+v", i, fields(nodes[i]), fields(want))
		}
	}
	again, ok := redisurl.Join(nodes)
	set.MaxTTL, set.Drift, set.NodeTimeout = 0, redisurl.DefaultDrift, 0
	if !ok || !reflect.DeepEqual(again, set) {
		t.Errorf("joined to %+v, want %+v", fields(again), fields(set))
	}
}

// TestJoin: servers that differ in more than their address have no URL together.
func TestJoin(t *testing.T) {
	for _, c := range []struct {
		raw  []string
		want string
	}{
		{[]string{"redis://a", "valkey://b:1", "redis://c"}, "redlock://a:6379,b:1,c:6379"},
		{[]string{"redis://:x@a", "redis://:x@b", "redis://:x@c"}, "redlock://a:6379,b:6379,c:6379"},
		{[]string{"redis://:x@a", "redis://:y@b", "redis://:x@c"}, ""},
		{[]string{"redis://a", "rediss://b", "redis://c"}, ""},
		{[]string{"redis://a", "redis://b/1", "redis://c"}, ""},
		{[]string{"redis://a", "redis://b", "redis+unix:///c"}, ""},
		{[]string{"redis://a", "redis://b?prefix=x", "redis://c"}, ""},
		{[]string{"redis://a", "redis+cluster://b", "redis://c"}, ""},
		{nil, ""},
	} {
		var nodes []redisurl.URL
		for _, raw := range c.raw {
			nodes = append(nodes, mustParse(t, raw))
		}
		set, ok := redisurl.Join(nodes)
		if ok != (c.want != "") || ok && set.String() != c.want {
			t.Errorf("%q: joined to %v, %v; want %q", c.raw, set, ok, c.want)
		}
	}
}

// TestParseMember: a server may say of the set what its URL alone would not.
func TestParseMember(t *testing.T) {
	const options = "?max_ttl=5s&drift=0.02&node_timeout=50ms"
	var nodes []redisurl.URL
	for _, raw := range []string{"redis://a" + options, "valkey://b:1" + options, "redis://c" + options} {
		if _, err := redisurl.Parse(raw); err == nil {
			t.Errorf("%q taken for a URL by itself", raw)
		}
		u, err := redisurl.ParseMember(raw)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, *u)
	}
	const want = "redlock://a:6379,b:1,c:6379" + options
	if set, ok := redisurl.Join(nodes); !ok || set.String() != want {
		t.Errorf("joined to %v, want %s", set, want)
	}
	if again, err := redisurl.ParseMember(nodes[0].String()); err != nil || !reflect.DeepEqual(*again, nodes[0]) {
		t.Errorf("%v is read back as %v, %v", nodes[0], again, err)
	}
	for _, raw := range []string{"redis+cluster://a?max_ttl=5s", "redis+sentinel://a/m?drift=0.02"} {
		if _, err := redisurl.ParseMember(raw); err == nil {
			t.Errorf("%q accepted", raw)
		}
	}
	for option, other := range map[string]string{
		"prefix": options + "&prefix=x", "max_ttl": "?drift=0.02&node_timeout=50ms", "drift": "?max_ttl=5s&node_timeout=50ms",
		"node_timeout": "?max_ttl=5s&drift=0.02",
	} {
		u, err := redisurl.ParseMember("redis://b" + other)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Unlike(nodes[0]); got != option {
			t.Errorf("%v: unlike in %q, want %q", u, got, option)
		}
		if _, ok := redisurl.Join([]redisurl.URL{nodes[0], *u, nodes[2]}); ok {
			t.Errorf("joined with another %s", option)
		}
	}
}
