//go:build unix

package filelock_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// flock runs flock(1) with a command that says when it has the lock, and holds
// it until the input ends.
func flock(t *testing.T, path string) io.Closer {
	t.Helper()
	cmd := exec.Command("flock", path, "sh", "-c", "echo held; read line")
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(stdout, make([]byte, len("held\n"))); err != nil {
		t.Fatal("flock(1) does not get the lock: ", err)
	}
	return stdin
}

func TestFlockCommandExcludesUs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	release(t, b, acquire(t, b, "job"))
	foreign := flock(t, lockFile(dir, "job"))
	if held := mustBeHeld(t, b, "job"); held.Owner != "" || held.Holder != "" {
		t.Errorf("flock(1) is taken for the last holder: %+v", held)
	}
	waiting := make(chan time.Duration)
	go func() {
		var freed time.Time
		defer func() { waiting <- time.Since(freed) }()
		grant, err := b.Acquire(context.Background(), request("job"))
		if err != nil {
			t.Error(err)
			return
		}
		release(t, b, grant)
	}()
	awaitWaiters(t, b, "job", 1)
	freed := time.Now()
	check(t, foreign.Close())
	<-waiting
	if took := time.Since(freed); took > 150*time.Millisecond+slack {
		t.Errorf("the end of flock(1) was noticed after %v", took)
	}
}

func TestFlockCommandMakesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	foreign := flock(t, lockFile(dir, "job"))
	mustBeHeld(t, b, "job")
	check(t, foreign.Close())
	release(t, b, acquireWithin(t, b, "job", 150*time.Millisecond))
}

func TestWeExcludeFlockCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	if err := exec.Command("flock", "-n", lockFile(dir, "job"), "true").Run(); err == nil {
		t.Fatal("flock(1) has a lock that is held")
	}
	release(t, b, grant)
	check(t, exec.Command("flock", "-n", lockFile(dir, "job"), "true").Run())
}

func TestLeaseModeIsNotSeenByFlockCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, leaseMode)
	grant := acquire(t, b, "job")
	foreign := flock(t, lockFile(dir, "job"))

	grant, err := b.Renew(t.Context(), grant, limit)
	if err != nil {
		t.Errorf("flock(1) stops a renewal: %v", err)
	}
	if err := b.Release(t.Context(), grant, 0); err != nil {
		t.Errorf("flock(1) stops a release: %v", err)
	}
	mustBeHeld(t, b, "job")
	check(t, foreign.Close())
}

func TestForeignHolderIsShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	release(t, b, acquire(t, b, "job"))
	foreign := flock(t, lockFile(dir, "job"))
	want := func(held bool) {
		t.Helper()
		h, err := b.Inspect(t.Context(), "job")
		check(t, err)
		if h.Held != held || h.Foreign != held || h.Holder != "" || h.Owner != "" || held && h.PID <= 0 {
			t.Errorf("shown as %+v, want held %v", h, held)
		}
		var listed []driver.Holding
		for h, err := range b.List(t.Context(), "") {
			check(t, err)
			listed = append(listed, h)
		}
		if held != (len(listed) == 1 && listed[0].Foreign && listed[0].Name == "job") {
			t.Errorf("listed as %+v, want held %v", listed, held)
		}
	}
	want(true)
	check(t, foreign.Close())
	eventually(t, "flock(1) has ended", func() bool {
		h, err := b.Inspect(t.Context(), "job")
		check(t, err)
		return !h.Held
	})
	want(false)
}

func TestB84CommandsDoNotInheritTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	cmd := exec.Command("sleep", "60")
	check(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	check(t, b.Close())
	other := newBackend(t, dir, nil)
	release(t, other, acquire(t, other, "job"))
	_ = grant
}

func TestB84OpeningTheFileChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	for range 3 {
		_, err := os.ReadFile(lockFile(dir, "job"))
		check(t, err)
	}
	if err := exec.Command("flock", "-n", lockFile(dir, "job"), "true").Run(); err == nil {
		t.Fatal("reading the lock file has freed the lock")
	}
	check(t, b.Check(grant))
}

func TestDescriptorKeepsTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, other := newBackend(t, dir, nil), newBackend(t, dir, nil)
	duplicate := func(grant driver.Grant) *os.File {
		fd, err := b.Descriptor(grant)
		check(t, err)
		return os.NewFile(fd, "lock")
	}
	grant := acquire(t, b, "job")
	keeper := duplicate(grant)
	release(t, b, grant)
	release(t, other, acquire(t, other, "job"))
	check(t, keeper.Close())

	// Another process keeps the lock when this one has lost every trace of it.
	holder := start(t, "own", dir, "job")
	if line := holder.line(); line != "kept" {
		t.Fatalf("the process says %q", line)
	}
	mustBeHeld(t, other, "job")
	check(t, holder.stdin.Close())
	release(t, other, acquireWithin(t, other, "job", 150*time.Millisecond))
}

// playOwn hands the descriptor to a command, and goes.
func playOwn(r *role) {
	fd, err := r.backend.(driver.DescriptorHolder).Descriptor(r.acquire())
	must(err)
	cmd := exec.Command("sh", "-c", "echo kept; read line")
	cmd.ExtraFiles = []*os.File{os.NewFile(fd, "lock")}
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	must(cmd.Start())
	os.Exit(0)
}
