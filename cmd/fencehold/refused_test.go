package main_test

import (
	"os"
	"strings"
	"testing"
)

// TestStatusOfRefusedRun: the status file never tells of an earlier run.
func TestStatusOfRefusedRun(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("plain", "no program\n")
	if err := os.Chmod(b.path("plain"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code string
		args []string
	}{
		{"127", []string{"job", "--", "no-such-command"}},
		{"126", []string{"job", "--", "./plain"}},
		{"64", []string{"job", "-s", "--", "true"}},
		{"64", []string{"job", "--no-such-flag", "--", "true"}},
		{"64", []string{"", "--", "true"}},
		{"64", []string{"job"}},
		{"64", []string{"--url", "mem://", "job", "--", "true"}},
		{"78", []string{"--config", "missing.toml", "job", "--", "true"}},
	} {
		b.write("status", "stale")
		r := b.run(append([]string{"run", "--status-file", "status"}, c.args...)...)
		got := b.read("status")
		if !strings.Contains(got, `"outcome":"not_started"`) || !strings.Contains(got, `"exit_code":`+c.code+`,`) ||
			strings.Contains(got, `"error":null`) {
			t.Errorf("run %q: exit code %d, status %s", c.args, r.code, got)
		}
	}
}

// TestPathUnset: without PATH a command is looked for where a shell does, and
// not in the current directory.
func TestPathUnset(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("true", "#!/bin/sh\nexit 9\n")
	env := b.env
	b.env = nil
	for _, entry := range env {
		if !strings.HasPrefix(entry, "PATH=") {
			b.env = append(b.env, entry)
		}
	}
	if r := b.run("run", "job", "--", "true"); r.code != 0 {
		t.Errorf("exit code %d, want 0 from the system's own; %s", r.code, r.stderr)
	}
	b.write("only-here", "#!/bin/sh\nexit 9\n")
	if r := b.run("run", "job", "--", "only-here"); r.code != 127 {
		t.Errorf("exit code %d, want 127; %s", r.code, r.stderr)
	}
}

func TestEmptyString(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if r := b.run("run", "job", "-c", ""); r.code != 0 || r.stdout+r.stderr != "" {
		t.Errorf("-c '': exit code %d, output %q", r.code, r.stdout+r.stderr)
	}
}
