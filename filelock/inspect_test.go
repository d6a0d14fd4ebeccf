//go:build unix

package filelock_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
)

func list(t *testing.T, b full, prefix string) map[string]driver.Holding {
	t.Helper()
	all := map[string]driver.Holding{}
	for h, err := range b.List(t.Context(), prefix) {
		check(t, err)
		all[h.Name] = h
	}
	return all
}

func TestB80Inspect(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := newBackend(t, dir, opts)
			req := request("team a/job")
			req.Owner, req.Labels = "ann", map[string]string{"why": "<backup>"}
			grant, err := b.TryAcquire(t.Context(), req)
			check(t, err)
			acquire(t, b, "other")
			waiter := start(t, "hold", dir, "team a/job")
			awaitWaiters(t, b, "team a/job", 1)

			h, err := b.Inspect(t.Context(), "team a/job")
			check(t, err)
			host, _ := os.Hostname()
			if !h.Held || h.Foreign || h.Name != req.Name || h.Holder != req.Holder || h.Token != grant.Token ||
				h.Owner != "ann" || h.Labels["why"] != "<backup>" || h.Host != host || h.PID != os.Getpid() {
				t.Errorf("shown as %+v", h)
			}
			if age := time.Since(h.Since); age < 0 || age > limit {
				t.Errorf("held since %v", h.Since)
			}
			if (h.TTL > 0) != (opts != nil) || h.Key != filepath.Join(dir, "team%20a%2Fjob.lock") {
				t.Errorf("shown with TTL %v, key %s", h.TTL, h.Key)
			}
			if len(h.Waiters) != 1 || h.Waiters[0].PID != waiter.cmd.Process.Pid || h.Waiters[0].Owner != "role" {
				t.Errorf("waiters %+v", h.Waiters)
			}
			if all := list(t, b, "team "); len(all) != 1 || all[req.Name].Waiting != 1 {
				t.Errorf("listed by prefix: %+v", all)
			}
			if all := list(t, b, ""); len(all) != 2 {
				t.Errorf("listed: %+v", all)
			}
			free, err := b.Inspect(t.Context(), "free")
			if err != nil || free.Held || free.Name != "free" || free.Waiting != 0 {
				t.Errorf("a free lock is shown as %+v, %v", free, err)
			}
		})
	}
}

func TestInspectionDisturbsNobody(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b, viewer := newBackend(t, dir, opts), newBackend(t, dir, nil)
			release(t, b, acquire(t, b, "job"))
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					for ctx.Err() == nil {
						h, err := viewer.Inspect(t.Context(), "job")
						if err != nil || h.Held && (h.Foreign || h.Holder == "" || h.Owner != "test") {
							t.Errorf("shown as %+v, %v", h, err)
							return
						}
						for _, err := range viewer.List(t.Context(), "") {
							if err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			for range rounds(5000) {
				release(t, b, acquire(t, b, "job"))
			}
			stop()
			all.Wait()
		})
	}
}

func TestListIgnoresWhatIsNoLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	for _, file := range []string{"README", "%zz.lock", "%41.lock", ".hidden.lock", ".lock", "%~.lock"} {
		check(t, os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o600))
	}
	check(t, os.Mkdir(filepath.Join(dir, "dir.lock"), 0o700))
	if all := list(t, b, ""); len(all) != 0 {
		t.Errorf("listed: %+v", all)
	}
}
