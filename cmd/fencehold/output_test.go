package main_test

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// unread is the end of a pipe that nobody reads any more.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// TestAcquireWithoutReader: a lock of which nobody could be told is free again,
// and the code says why.
func TestAcquireWithoutReader(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "name", "table"} {
		b := newBox(t)
		cmd := b.command("acquire", "-o", format, "--ttl", "10m", "job")
		cmd.Stdout = unread(t)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if code := b.wait(cmd); code != 74 || !strings.Contains(stderr.String(), "broken pipe") {
			t.Errorf("%s: exit code %d, %q, want 74 and the reason", format, code, stderr.String())
		}
		b.free("job")
	}
}

// TestWatchEndsWithItsReader: a watch that has nothing to tell ends too, as a
// command does that writes to nobody.
func TestWatchEndsWithItsReader(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := b.command("watch", "-o", "jsonl", "--interval", "20ms")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	b.run("acquire", "--ttl", "10m", "job")
	if event, err := bufio.NewReader(r).ReadString('\n'); !strings.Contains(event, "acquired") {
		t.Fatalf("event %q, %v, want one as long as there is a reader", event, err)
	}
	r.Close()
	if code := b.wait(cmd); code != 141 {
		t.Errorf("exit code %d without a reader, want 141", code)
	}
}
