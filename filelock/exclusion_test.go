//go:build unix

package filelock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
)

// A section is what a lock protects: it notices when two are in it, and that
// tokens rise in the order in which they came.
type section struct{ inside, tokens string }

func newSection(dir string) section {
	return section{filepath.Join(dir, "inside"), filepath.Join(dir, "tokens")}
}

func (s section) enter(token fence.Token) error {
	inside, err := os.OpenFile(s.inside, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("overlap: %w", err)
	}
	last, err := os.ReadFile(s.tokens)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n, _ := strconv.ParseInt(string(last), 10, 64)
	if int64(token) <= n {
		return fmt.Errorf("token %d after %d", token, n)
	}
	return errors.Join(os.WriteFile(s.tokens, []byte(token.String()), 0o600), inside.Close(), os.Remove(s.inside))
}

// playCount enters the section many times.
func playCount(r *role) {
	n, err := strconv.Atoi(r.args[1])
	must(err)
	for range n {
		grant := r.acquire()
		must(newSection(r.args[0]).enter(grant.Token))
		r.release(grant)
	}
	fmt.Println("done")
}

func TestExclusionAcrossProcesses(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"count", "count-lease"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			dir, data := t.TempDir(), t.TempDir()
			var counters []*child
			for range 4 {
				counters = append(counters, start(t, role, dir, "job", data, strconv.Itoa(rounds(1000))))
			}
			for _, c := range counters {
				if line := c.line(); line != "done" {
					t.Errorf("a process says %q", line)
				}
			}
			noLine(t, dir)
		})
	}
}

func TestBothModesExcludeEachOther(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	a := start(t, "count", dir, "job", data, "50")
	b := start(t, "count-lease", dir, "job", data, "50")
	a.line()
	b.line()
}

func TestB87SameClientTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, other := newBackend(t, dir, nil), newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	if held := mustBeHeld(t, b, "job"); held.Holder != grant.Holder || held.Owner != "test" {
		t.Errorf("refused for %+v", held)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := b.Acquire(ctx, request("job"))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fencehold.ErrHeld) {
		t.Errorf("second acquire: %v", err)
	}
	release(t, b, grant)
	release(t, other, acquire(t, other, "job"))
	noLine(t, dir)
}

func TestB87GoroutinesOfOneClient(t *testing.T) {
	t.Parallel()
	b, data := newBackend(t, t.TempDir(), nil), newSection(t.TempDir())
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			grant, err := b.Acquire(t.Context(), request("job"))
			if err != nil {
				t.Error(err)
				return
			}
			if err := data.enter(grant.Token); err != nil {
				t.Error(err)
			}
			release(t, b, grant)
		})
	}
	all.Wait()
}

func TestRepeatedAttemptOfTheHolder(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]bool{"process": false, "lease": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t, t.TempDir(), nil)
			req := request("job")
			req.Detached = opts
			first, err := b.TryAcquire(t.Context(), req)
			check(t, err)
			again, err := b.TryAcquire(t.Context(), req)
			check(t, err)
			if again.Token != first.Token || again.Holder != first.Holder || again.Pinned != first.Pinned {
				t.Errorf("repeated attempt: %+v, want %+v", again, first)
			}
			if again.TTL > first.TTL || again.TTL < first.TTL-5*time.Second {
				t.Errorf("repeated attempt has %v left of %v", again.TTL, first.TTL)
			}
			release(t, b, first)
			mustBeLost(t, b.Release(t.Context(), again, 0), fencehold.ReasonExpired)
		})
	}
}

func TestB10OldHandles(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]bool{"process": false, "lease": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := newBackend(t, dir, nil)
			req := request("job")
			req.Detached = lease
			old, err := b.TryAcquire(t.Context(), req)
			check(t, err)
			release(t, b, old)
			grant := acquire(t, b, "job")
			before, err := os.ReadFile(lockFile(dir, "job"))
			check(t, err)
			_, err = b.Renew(t.Context(), old, limit)
			mustBeLost(t, err, fencehold.ReasonTakenOver)
			mustBeLost(t, b.Release(t.Context(), old, 0), fencehold.ReasonTakenOver)
			mustBeLost(t, b.Release(t.Context(), old, time.Second), fencehold.ReasonTakenOver)
			mustBeLost(t, b.Check(old), fencehold.ReasonTakenOver)
			if after, err := os.ReadFile(lockFile(dir, "job")); err != nil || !bytes.Equal(after, before) {
				t.Errorf("an old handle changed the lock from\n%s to\n%s", before, after)
			}
			check(t, b.Check(grant))
		})
	}
}
