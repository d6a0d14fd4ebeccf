package redisurl_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// mustRoundTrip fails unless the string of u is read as u without its passwords.
func mustRoundTrip(t testing.TB, u redisurl.URL) {
	t.Helper()
	again, err := redisurl.Parse(u.String())
	if err != nil {
		t.Fatalf("%v is not read back: %v", u, err)
	}
	u.Password, u.SentinelPassword = "", ""
	if !reflect.DeepEqual(*again, u) {
		t.Errorf("%v is read back as\n%+v, want\n%+v", u, fields(*again), fields(u))
	}
	if again.String() != u.String() {
		t.Errorf("%v becomes %v", u, again)
	}
}

func TestString(t *testing.T) {
	for _, c := range accepted {
		u, err := redisurl.Parse(c.raw)
		if err != nil {
			t.Errorf("%q: %v", c.raw, err)
			continue
		}
		if got := u.String(); got != c.canonical {
			t.Errorf("%q written as %q, want %q", c.raw, got, c.canonical)
		}
		mustRoundTrip(t, *u)
	}
}

// TestPrinted: no verb shows a password, of a pointer or a value.
func TestPrinted(t *testing.T) {
	u, err := redisurl.Parse("redis+sentinel://u:SECRET@h/m?sentinel_password=SECRET")
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, shown := range []string{fmt.Sprintf(verb, u), fmt.Sprintf(verb, *u)} {
			if strings.Contains(shown, "SECRET") || !strings.Contains(shown, "redis+sentinel://u:@h") {
				t.Errorf("%s shows %s", verb, shown)
			}
		}
	}
}
