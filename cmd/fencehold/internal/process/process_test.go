//go:build unix

package process_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

func TestReadStat(t *testing.T) {
	t.Parallel()
	s, err := process.ReadStat(os.Getpid())
	if err != nil || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Group != syscall.Getpgrp() || !s.Alive() {
		t.Errorf("own process reads as %+v, %v", s, err)
	}
	if _, err := process.ReadStat(1 << 30); err == nil {
		t.Error("a process that cannot exist was read")
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(other, "text"), nil, 0o755)
	os.Mkdir(filepath.Join(dir, "folder"), 0o755)
	for _, c := range []struct {
		name, path, found string
		err               error
	}{
		{"tool", dir, dir + "/tool", nil},
		{"tool", "/nonexistent:" + dir, dir + "/tool", nil},
		{"text", dir, "", fs.ErrPermission},
		{"text", dir + ":" + other, other + "/text", nil},
		{"folder", dir, "", fs.ErrPermission},
		{"missing", dir, "", fs.ErrNotExist},
		{"missing", "", "", fs.ErrNotExist},
		{"", dir, "", fs.ErrNotExist},
		{dir + "/tool", "", dir + "/tool", nil},
		{dir + "/tool/x", "", "", fs.ErrNotExist},
		{dir + "/text", "", "", fs.ErrPermission},
	} {
		found, err := process.Lookup(c.name, c.path)
		if !errors.Is(err, c.err) || (err == nil && found != c.found) {
			t.Errorf("Lookup(%q, %q) = %q, %v, want %q, %v", c.name, c.path, found, err, c.found, c.err)
		}
	}
}

func TestLookupInCurrentDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("tool", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if found, err := process.Lookup("tool", "/bin::/usr/bin"); err != nil || found != "./tool" {
		t.Errorf("found %q, %v, want ./tool", found, err)
	}
}

// TestGroup: a group is gone when only zombies are left of it.
func TestGroup(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "sleep 100 & sleep 100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	group := process.Group(cmd.Process.Pid)
	if group.Gone() {
		t.Error("a living group is gone")
	}
	group.Signal(syscall.SIGKILL)
	// The leader is a zombie now: it has not been waited for.
	for began := time.Now(); !group.Gone(); time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the group is not gone")
		}
	}
	if s, err := process.ReadStat(cmd.Process.Pid); err != nil || s.Alive() {
		t.Errorf("leader is %+v, %v, want a zombie", s, err)
	}
	cmd.Wait()
	if group.Signal(syscall.SIGKILL); !group.Gone() {
		t.Error("a signal to a group that is gone brought it back")
	}
}

func TestDescendants(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 100 & sleep 100 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	own := process.Descendants{}
	if own.Gone() {
		t.Error("living descendants are gone")
	}
	for began := time.Now(); !own.Gone(); time.Sleep(time.Millisecond) {
		own.Signal(syscall.SIGKILL)
		if time.Since(began) > 10*time.Second {
			t.Fatal("descendants are not gone")
		}
	}
	cmd.Wait()
}

// TestExisting: what was started before does not count, nor do its children.
func TestExisting(t *testing.T) {
	stranger := exec.Command("sh", "-c", "sleep 100 & wait")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Wait()
	defer stranger.Process.Kill()
	before := process.Existing()
	if len(before) == 0 || before[0].PID != stranger.Process.Pid || before[0].Parent != os.Getpid() {
		t.Errorf("existing descendants are %+v, want %d first", before, stranger.Process.Pid)
	}
	own := process.Descendants{Except: before}
	if !own.Gone() {
		t.Error("what was there before counts")
	}
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if own.Gone() {
		t.Error("a later child does not count")
	}
	own.Signal(syscall.SIGKILL)
	cmd.Wait()
	if s, err := process.ReadStat(stranger.Process.Pid); err != nil || !s.Alive() {
		t.Errorf("what was there before is %+v, %v, want it alive", s, err)
	}
	process.Descendants{}.Signal(syscall.SIGKILL)
}

func TestSearchPath(t *testing.T) {
	t.Setenv("PATH", "")
	if path := process.SearchPath(); path != "" {
		t.Errorf("empty PATH: %q", path)
	}
	os.Unsetenv("PATH")
	if path := process.SearchPath(); path != "/bin:/usr/bin" {
		t.Errorf("no PATH: %q, want the directories of the system", path)
	}
}

func TestAlarm(t *testing.T) {
	t.Parallel()
	for _, clock := range []process.Clock{process.Boottime, process.Monotonic} {
		a, err := process.NewAlarm(clock)
		if err != nil {
			t.Fatal(err)
		}
		at := clock.Now() + 60*time.Millisecond
		a.Set(clock.Now() + 10*time.Millisecond)
		a.Set(at)
		<-a.C
		if late := clock.Now() - at; late < 0 || late > 250*time.Millisecond {
			t.Errorf("the alarm rang %s after its time", late)
		}
		a.Set(clock.Now() - time.Second)
		<-a.C
		a.Set(clock.Now() + 20*time.Millisecond)
		a.Set(0)
		select {
		case <-a.C:
			t.Error("an alarm that is not set rang")
		case <-time.After(60 * time.Millisecond):
		}
		a.Set(-time.Hour) // as a sum that overflows
		<-a.C
		a.Close()
	}
}
