package main_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
)

// TestWatchEvents: one JSON object on each line for each change.
func TestWatchEvents(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	cmd := b.command("watch", "-o", "jsonl", "--interval", "10ms", "job")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func(want string) map[string]any {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no event, want %s", want)
		}
		var e struct {
			Schema int            `json:"schema_version"`
			Time   string         `json:"time"`
			Event  string         `json:"event"`
			Lock   map[string]any `json:"lock"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if e.Event != want || e.Schema != 1 || e.Time == "" || e.Lock["name"] != "job" {
			t.Fatalf("event %s, want %s of job", lines.Text(), want)
		}
		return e.Lock
	}
	b.run("acquire", "--ttl", "10m", "elsewhere")
	holder := strings.TrimSpace(b.run("acquire", "-o", "name", "--ttl", "10m", "job").stdout)
	if got := next("acquired"); got["holder"] != holder {
		t.Errorf("holder %v, want %s", got["holder"], holder)
	}
	if r := b.run("release", "--holder", holder, "job"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if got := next("released"); got["holder"] != holder || got["held"] != false {
		t.Errorf("released: %v, want the holder that was", got)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if code := b.wait(cmd); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
}

func TestWatchRefusesShortInterval(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if r := b.run("watch", "--interval", "1ms"); r.code != 64 || !strings.Contains(r.stderr, "at least 10ms") {
		t.Errorf("exit code %d, %q, want 64 and the rule", r.code, r.stderr)
	}
}
