package redisurl

import (
	"net"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// marker stands at both ends of a password, so that it is seen in what shows a
// piece of it.
const marker = "Xq7Xq7"

// FuzzParse puts a password into a URL, as it is and encoded, and as an option.
func FuzzParse(f *testing.F) {
	f.Add("redis", "u", "p@s/s+#%=:w rd", "h")
	f.Add("rediss", "", "@", "[::1]:6380/3?cacert=/f&cert=c&key=k&servername=s&insecure=1")
	f.Add("unix", "a:b", ":", "/run/s%40?db=1")
	f.Add("redis+sentinel", "u", "&x=", "a,b:1/m%2F/0?sentinel_username=x")
	f.Add("redis-sentinel", "u", "#", "a?sentinelMasterId=m")
	f.Add("valkeys+cluster", "", "/?", "a,[fe80::1%25e]:1/0?prefix={a}&min_replicas=2&replica_timeout=3ms")
	f.Add("redis", "", "x", "h?client_name=a&dial_timeout=1.5s&password_file=f&prefx=")
	f.Add("redlock", "u", "p@s", "a,b:1,[::1]/2?max_ttl=90s&drift=0.02&node_timeout=50ms&prefix=")
	f.Add("redlocks", "", "x", "a,b,c,d,e?drift=nan&max_ttl=1h&insecure=1")
	f.Add("valkey+redlock", "u", "", "a,a,c?drift=5e-1&min_replicas=1")
	f.Fuzz(func(t *testing.T, scheme, user, password, rest string) {
		if strings.Contains(scheme+user+rest, marker) {
			return // what is no password may be shown
		}
		secret := marker + password + marker
		coded := strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")
		checkParse(t, scheme+"://"+rest)
		checkParse(t, scheme+"://"+user+":"+secret+"@"+rest)
		u := checkParse(t, scheme+"://"+user+":"+coded+"@"+rest)
		if u != nil && u.Password != secret && !strings.Contains(user, ":") {
			t.Errorf("password %q read as %q", secret, u.Password)
		}
		separator := "?"
		if strings.Contains(rest, "?") {
			separator = "&"
		}
		u = checkParse(t, scheme+"://"+rest+separator+"sentinel_password="+coded)
		if u != nil && u.SentinelPassword != secret {
			t.Errorf("sentinel_password %q read as %q", secret, u.SentinelPassword)
		}
	})
}

// checkParse reads a URL, and fails if what comes out shows a password or is not
// read back as the same.
func checkParse(t *testing.T, raw string) *URL {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		if strings.Contains(err.Error(), marker) {
			t.Errorf("%q: the error shows the password: %v", raw, err)
		}
		return nil
	}
	shown := u.String()
	if strings.Contains(shown, marker) {
		t.Errorf("%q: written with the password: %s", raw, shown)
	}
	again, err := Parse(shown)
	if err != nil {
		t.Fatalf("%q: written as %q, which is refused: %v", raw, shown, err)
	}
	want := *u
	want.Password, want.SentinelPassword = "", ""
	if !reflect.DeepEqual(*again, want) || again.String() != shown {
		t.Errorf("%q: written as %q, and that as %q", raw, shown, again)
	}
	return u
}

// FuzzHosts: what is accepted are distinct addresses that a dialer takes, and that
// are read as themselves.
func FuzzHosts(f *testing.F) {
	for _, list := range []string{
		"h", "a,b:1", "[::1],[::2]:65535", "[fe80::1%25eth0]:7", "1.2.3.4", "a.,A_b-c", "a,a:6379", "::1", ",",
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		addrs, err := parseHosts(list, "6379")
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, addr := range addrs {
			host, port, err := net.SplitHostPort(addr)
			n, portErr := strconv.Atoi(port)
			if err != nil || portErr != nil || host == "" || n < 1 || n > 65535 || seen[addr] {
				t.Errorf("%q read as %q", list, addrs)
			}
			seen[addr] = true
		}
		again, err := parseHosts(strings.ReplaceAll(strings.Join(addrs, ","), "%", "%25"), "1")
		if err != nil || !reflect.DeepEqual(again, addrs) {
			t.Errorf("%q read as %q, and that as %q, %v", list, addrs, again, err)
		}
	})
}
