package view_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
)

func holdings(now time.Time) []fencehold.Holding {
	return []fencehold.Holding{
		{
			Name: "a", Held: true, Holder: "H1", Token: 1 << 52, Owner: "web 1", Labels: map[string]string{"k": "v", "a": "b"},
			Host: "box", PID: 7, Since: now.Add(-90 * time.Second), TTL: 1500 * time.Millisecond, Key: "/x/a.lock", Waiting: 2,
			Waiters: []fencehold.Waiter{{Owner: "w", PID: 8, Since: now}},
		},
		{Name: "b\x1b[2J", Held: true, Foreign: true, Waiting: -1},
		{Name: "c", Held: true, Kept: true, Holder: "K"},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000000, 0)
	var b strings.Builder
	if err := view.Print(&b, view.Table, holdings(now), now); err != nil {
		t.Fatal(err)
	}
	want := `LOCK         HOLDER            TOKEN              AGE     TTL    WAITERS
a            "web 1"           4503599627370496   1m30s   1.5s   2
"b\x1b[2J"   (not fencehold)   -                  -       -      -
c            (kept)            -                  -       -      0
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	view.Print(&b, view.Wide, holdings(now)[:1], now)
	if line := strings.Split(b.String(), "\n")[1]; !strings.HasSuffix(line, "box    7     a=b,k=v   /x/a.lock") {
		t.Errorf("wide line %q", line)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	view.Print(&b, view.Names, holdings(time.Now()), time.Now())
	if want := "a\n\"b\\x1b[2J\"\nc\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestJSON: the set of keys is the same for every lock, tokens are strings,
// and what is not known is null.
func TestJSON(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var b strings.Builder
	if err := view.Print(&b, view.JSON, holdings(now), now); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema int              `json:"schema_version"`
		Locks  []map[string]any `json:"locks"`
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil || got.Schema != 1 || len(got.Locks) != 3 {
		t.Fatalf("%v: %s", err, b.String())
	}
	a, c := got.Locks[0], got.Locks[2]
	if a["kept"] != false || c["kept"] != true || c["holder"] != "K" {
		t.Errorf("kept: %v and %v, want false, and true with the id that unlock wants", a, c)
	}
	if a["token"] != "4503599627370496" || a["ttl_ms"] != 1500.0 || a["waiting"] != 2.0 || a["pid"] != 7.0 {
		t.Errorf("first lock: %v", a)
	}
	if _, err := time.Parse(time.RFC3339, a["since"].(string)); err != nil {
		t.Error(err)
	}
	for key := range a {
		if _, ok := c[key]; !ok {
			t.Errorf("key %q is missing where its value is not known", key)
		}
	}
	if c["token"] != nil || c["owner"] != nil || c["ttl_ms"] != nil || got.Locks[1]["waiting"] != nil {
		t.Errorf("unknown values are not null: %v", c)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	view.Print(&b, view.Lines, holdings(time.Now()), time.Now())
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"plain/name-1.x": "plain/name-1.x", "": "", "é": "é", "a b": `"a b"`, "a\nb": `"a\nb"`, `a"b`: `"a\"b"`,
		"-": `"-"`, "\u202e": `"\u202e"`, "\xff": `"\xff"`, "a\\": `"a\\"`,
	} {
		if got := view.Quote(s); got != want {
			t.Errorf("Quote(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	if f, err := view.ParseFormat("jsonl", view.Table, view.Lines); err != nil || f != view.Lines {
		t.Errorf("jsonl: %q, %v", f, err)
	}
	if _, err := view.ParseFormat("xml", view.Table, view.Lines); err == nil || !strings.Contains(err.Error(), "table, jsonl") {
		t.Errorf("xml: %v", err)
	}
}
