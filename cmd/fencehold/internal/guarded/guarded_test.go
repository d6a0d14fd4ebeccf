//go:build unix

package guarded_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
)

func TestStack(t *testing.T) {
	t.Parallel()
	frames := []guarded.Frame{
		{Name: "a", Token: "1", Backend: "file:///x y"},
		{Name: "odd = name; with %", Token: "2", Backend: "redis://h1,h2/0?a=b"},
		{Name: "c", Token: "3"},
	}
	value := ""
	for _, f := range frames {
		value += " " + f.String()
	}
	if got := guarded.Stack(value); !reflect.DeepEqual(got, frames) {
		t.Errorf("%q reads as %+v", value, got)
	}
	for value, want := range map[string][]guarded.Frame{
		"":                nil,
		"junk":            nil,
		"a=1":             {{Name: "a", Token: "1"}},
		"%zz=1 b=2":       {{Name: "b", Token: "2"}},
		"a=1;%zz b=2;x:y": {{Name: "b", Token: "2", Backend: "x:y"}},
	} {
		if got := guarded.Stack(value); !slices.Equal(got, want) {
			t.Errorf("%q reads as %+v, want %+v", value, got, want)
		}
	}
}

// TestStatusKeys: all keys are there whatever the outcome.
func TestStatusKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "status")
	for outcome, r := range map[string]guarded.Result{
		"exited":       {Outcome: guarded.Exited, Ran: true, Status: 7 << 8, Token: 5, Hold: 2 * time.Second},
		"busy":         {Outcome: guarded.NotAcquired, Err: &fencehold.HeldError{}},
		"not_acquired": {Outcome: guarded.NotAcquired, Err: fencehold.ErrUnavailable},
		"interrupted":  {Outcome: guarded.Interrupted, Signal: 2},
	} {
		if err := guarded.WriteStatus(path, "job", 3, r); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, key := range []string{
			"schema_version", "outcome", "exit_code", "signal", "lock", "token", "wait_ms", "hold_ms", "error",
		} {
			if _, ok := got[key]; !ok || len(got) != 9 {
				t.Errorf("%s: keys of %v, want %s and 8 others", outcome, got, key)
			}
		}
		if got["outcome"] != outcome || got["exit_code"] != 3.0 {
			t.Errorf("%s: %v", outcome, got)
		}
		if (got["signal"] == "SIGINT") != (outcome == "interrupted") || (got["token"] == "5") != (outcome == "exited") {
			t.Errorf("%s: signal %v, token %v", outcome, got["signal"], got["token"])
		}
	}
}

// TestStatusReplacesWhole: a reader never sees half a file, and what cannot be
// replaced is written to.
func TestStatusReplacesWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "status")
	r := guarded.Result{Outcome: guarded.Failed, Err: errors.New("reason")}
	for range 3 {
		if err := guarded.WriteStatus(path, "job", 70, r); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files, want one", len(entries))
	}
	if err := guarded.WriteStatus("/dev/null", "job", 70, r); err != nil {
		t.Errorf("a device: %v", err)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the device is %v now, %v", info, err)
	}
	if err := guarded.WriteStatus(filepath.Join(dir, "no/such/dir"), "job", 70, r); err == nil {
		t.Error("a directory that is not there: no error")
	}
}
