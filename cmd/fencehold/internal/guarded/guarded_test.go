//go:build unix

package guarded_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
	"golang.org/x/sys/unix"
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

// TestStatusFollowsLinks: a link stands for what it points to, and stays.
func TestStatusFollowsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	r := guarded.Result{Outcome: guarded.Failed, Err: errors.New("reason")}
	for _, before := range []string{"", strings.Repeat("long ", 1000)} {
		if before != "" {
			os.WriteFile(target, []byte(before), 0o600)
		}
		if err := guarded.WriteStatus(link, "job", 70, r); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(link); err != nil || to != target {
			t.Fatalf("the link reads %q, %v, want %q", to, err, target)
		}
		text, err := os.ReadFile(target)
		if err != nil || !json.Valid(text) {
			t.Errorf("the target holds %q, %v", text, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%d files, want the link and its target", len(entries))
	}
}

// TestStatusIntoPipe: a pipe gets the status, also by a link to an open
// descriptor, and one that is not read holds nobody up.
func TestStatusIntoPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := guarded.Result{Outcome: guarded.Exited}
	within(t, 5*time.Second, func() {
		if err := guarded.WriteStatus(fifo, "job", 0, r); err == nil {
			t.Error("a pipe without a reader: no error")
		}
	})
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	os.Symlink(fmt.Sprintf("/proc/self/fd/%d", reader.Fd()), link)
	for _, path := range []string{fifo, link} {
		if err := guarded.WriteStatus(path, "job", 0, r); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 4096)
		if n, err := reader.Read(text); err != nil || !json.Valid(text[:n]) {
			t.Errorf("%s: read %q, %v", path, text[:n], err)
		}
	}
	fill(t, fifo)
	within(t, 10*time.Second, func() {
		if err := guarded.WriteStatus(fifo, "job", 0, r); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a pipe that is full: %v, want a deadline that is over", err)
		}
	})
	if info, err := os.Lstat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v now, %v", info, err)
	}
}

// fill writes to a pipe until it has no room for another byte.
func fill(t *testing.T, fifo string) {
	t.Helper()
	fd, err := unix.Open(fifo, unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for size := 4096; size > 0; {
		if _, err := unix.Write(fd, make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// within fails the test if f takes longer than limit.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { f(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatalf("it hangs for %s", limit)
	}
}
