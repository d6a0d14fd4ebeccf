package main_test

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestKeeperFrozenForGood: one that cannot be continued is killed, and the
// command with it. Why the command had to end decides the exit code.
func TestKeeperFrozenForGood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		code   int
		happen func(b *box, r *running)
	}{
		{"TERM", 70, func(_ *box, r *running) { r.signal(syscall.SIGTERM) }},
		{"loss", 79, func(b *box, _ *running) { os.Remove(b.locks + "/job.lock") }},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			r := b.start("run", "--ttl", "20s", "-k", "500ms", "job", "--", "sh", "-c", family)
			pids := append(b.pids("up", 2), b.pids("kid", 1)...)
			over := make(chan struct{})
			defer close(over)
			keeper := keeperOf(t, r.Process.Pid)
			t.Cleanup(func() {
				if t.Failed() {
					syscall.Kill(keeper, syscall.SIGKILL)
					syscall.Kill(-pids[0], syscall.SIGKILL)
				}
			})
			if err := freeze(keeper, over); err != nil {
				t.Fatal(err)
			}
			c.happen(b, r)
			within(t, 5*time.Second, "the command is gone", func() bool { return gone(pids...) })
			if code := r.end(); code != c.code {
				t.Errorf("exit code %d, want %d; %s", code, c.code, r.stderr)
			}
			b.free("job")
		})
	}
}

// freeze keeps a process stopped, whoever continues it, as a debugger does,
// until over is closed.
func freeze(pid int, over <-chan struct{}) error {
	frozen := make(chan error)
	go func() {
		// Never unlocked: with the thread of a debugger ends what it does.
		runtime.LockOSThread()
		syscall.Kill(pid, syscall.SIGSTOP)
		frozen <- attach(pid)
		<-over
	}()
	return <-frozen
}

// attach makes this thread the debugger of all threads of a process.
func attach(pid int) error {
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		if err := syscall.PtraceAttach(id); err != nil {
			return err
		}
		if _, err := syscall.Wait4(id, nil, syscall.WALL, nil); err != nil {
			return err
		}
	}
	return nil
}
