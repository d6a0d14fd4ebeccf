package redisurl

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "db", 2},
		{"db", "", 2},
		{"db", "db", 0},
		{"dc", "db", 1},
		{"bd", "db", 2},
		{"prefx", "prefix", 1},
		{"pprefix", "prefix", 1},
		{"pfx", "prefix", 3},
		{"kitten", "sitting", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"redus": "redis", "REDIS": "redis", "valky": "valkey", "redis+sentinal": "redis+sentinel", "http": "", "": "",
		"redlok": "redlock", "redlocs": "redlock",
	} {
		if got := nearestScheme(name); got != want {
			t.Errorf("nearest to %q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"prefx": "prefix", "pfix": "prefix", "sentinelmasterid": "sentinelMasterId", "pfx": "", "password": "",
	} {
		if got := nearestOption(name); got != want {
			t.Errorf("nearest to %q: %q, want %q", name, got, want)
		}
	}
}
