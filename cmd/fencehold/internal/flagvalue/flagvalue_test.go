package flagvalue_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"1m30s": 90 * time.Second, "0": 0, "1": time.Second, "0.25": 250 * time.Millisecond, "1e1": 10 * time.Second,
		".5": 500 * time.Millisecond, "10ms": 10 * time.Millisecond, "86400": 24 * time.Hour,
		"8760h": 8760 * time.Hour, "31536000": 8760 * time.Hour,
	} {
		if got, err := flagvalue.ParseDuration(s); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "soon", "-1", "-1s", "1 s", "inf", "NaN", "0x10", "1_000", "1e300", "9999999999999", "5m3", "1d",
	} {
		if got, err := flagvalue.ParseDuration(s); err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%q: %s, %v, want an error that names it", s, got, err)
		}
	}
}

// TestLongest: the rule that is named is the one that holds.
func TestLongest(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"1e10", "1e300", "31536001", "8761h", "-1", "-1e300"} {
		_, err := flagvalue.ParseDuration(s)
		if err == nil || !strings.Contains(err.Error(), "between 0 and 365 days") {
			t.Errorf("%q: error %v, want one with the limit", s, err)
		}
	}
}

func TestDurationFlag(t *testing.T) {
	t.Parallel()
	var f flagvalue.Duration
	if f.String() != "" || f.Given || f.Type() != "duration" {
		t.Errorf("before: %q, given %t", f.String(), f.Given)
	}
	if err := f.Set("soon"); err == nil || f.Given {
		t.Errorf("a bad value: %v, given %t", err, f.Given)
	}
	if err := f.Set("2"); err != nil || f.String() != "2s" || !f.Given || f.Value != 2*time.Second {
		t.Errorf("a good value: %v, %q", err, f.String())
	}
}

func TestParseSignal(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "SIGTERM": syscall.SIGTERM, "int": syscall.SIGINT, "sigusr1": syscall.SIGUSR1, "9": syscall.SIGKILL,
	} {
		if got, err := flagvalue.ParseSignal(s); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "NONE", "0", "-1", "999", "SIG", "TERM "} {
		if got, err := flagvalue.ParseSignal(s); err == nil {
			t.Errorf("%q: %v, want an error", s, got)
		}
	}
}
