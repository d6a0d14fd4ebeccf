//go:build unix

package filelock_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

// rounds returns n, or a tenth of it outside of the full conformance run.
func rounds(n int) int {
	if os.Getenv("FENCEHOLD_CONFORMANCE") == "full" {
		return n
	}
	return n / 10
}

func TestB83CrashLeftovers(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"living process":  fmt.Sprintf(`{"v":1,"mode":"process","name":"job","holder":"H","pid":%d}`, os.Getpid()),
		"first process":   `{"v":1,"mode":"process","name":"job","holder":"H","pid":1}`,
		"other format":    fmt.Sprintf("%d\n", os.Getpid()),
		"empty":           "",
		"garbage":         "\x00\xff{\"v\":1,\"mode\":\"lea",
		"lease, no sum":   `{"v":1,"mode":"lease","name":"job","holder":"H","held_until":{"boot":"","ns":99999999999999999}}`,
		"longer than any": string(make([]byte, 100_000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check(t, os.WriteFile(lockFile(dir, "job"), []byte(content), 0o600))
			b := newBackend(t, dir, nil)
			if h, err := b.Inspect(t.Context(), "job"); err != nil || h.Held {
				t.Errorf("leftover is shown as %+v, %v", h, err)
			}
			grant := acquireWithin(t, b, "job", 100*time.Millisecond)
			h, err := b.Inspect(t.Context(), "job")
			check(t, err)
			if !h.Held || h.Foreign || h.Holder != grant.Holder || h.PID != os.Getpid() || h.Token != grant.Token {
				t.Errorf("new holder is shown as %+v", h)
			}
			release(t, b, grant)
		})
	}
}

func TestB83KilledHolderFreesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	holder := start(t, "hold", dir, "job")
	holder.line()
	mustBeHeld(t, b, "job")
	waiting := make(chan time.Time)
	go func() {
		grant, err := b.Acquire(context.Background(), request("job"))
		if err != nil {
			t.Error(err)
		}
		waiting <- time.Now()
		release(t, b, grant)
		waiting <- time.Now()
	}()
	awaitWaiters(t, b, "job", 1)
	killed := time.Now()
	holder.signal(syscall.SIGKILL)
	if took := (<-waiting).Sub(killed); took > 100*time.Millisecond+slack {
		t.Errorf("the waiter had the lock %v after the kill", took)
	}
	<-waiting
	if h, err := b.Inspect(t.Context(), "job"); err != nil || h.Held {
		t.Errorf("the dead holder is shown as %+v, %v", h, err)
	}
	noLine(t, dir)
}

func TestB83CrashRounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	for range rounds(1000) {
		start(t, "crash", dir, "job").ended()
		grant := acquireWithin(t, b, "job", 100*time.Millisecond)
		release(t, b, grant)
	}
}

func TestFrozenHolderKeepsTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	holder := start(t, "hold", dir, "job")
	holder.line()
	holder.freeze()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if grant, err := b.Acquire(ctx, request("job")); err == nil {
		t.Fatalf("the lock of a frozen process was given away: %+v", grant)
	}
	holder.signal(syscall.SIGCONT)
	check(t, holder.stdin.Close())
	if line := holder.line(); line != "released" {
		t.Errorf("the holder says %q", line)
	}
	release(t, b, acquire(t, b, "job"))
}

func TestFrozenWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	frozen := start(t, "hold", dir, "job")
	awaitWaiters(t, b, "job", 1)
	frozen.freeze()
	release(t, b, grant)
	grant = acquireWithin(t, b, "job", 3*time.Second)

	frozen.signal(syscall.SIGCONT)
	awaitWaiters(t, b, "job", 1)
	mustBeHeld(t, b, "job")
	release(t, b, grant)
	frozen.line()
	check(t, frozen.stdin.Close())
	frozen.line()
	noLine(t, dir)
}

func TestFrozenWaiterDoesNotRefuseAttemptsForGood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	frozen := start(t, "hold", dir, "job")
	awaitWaiters(t, b, "job", 1)
	frozen.freeze()
	release(t, b, grant)
	start := time.Now()
	eventually(t, "an attempt goes past a frozen waiter", func() bool {
		grant, err := b.TryAcquire(t.Context(), request("job"))
		if err == nil {
			release(t, b, grant)
		}
		return err == nil
	})
	if took := time.Since(start); took < 500*time.Millisecond {
		t.Errorf("a waiter lost its turn after %v", took)
	}
	frozen.signal(syscall.SIGCONT)
	frozen.line()
}
