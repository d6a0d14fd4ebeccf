//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

// Attempts take the flock for moments. They must not stop the holder of lease
// mode from renewing, nor be told that the lock is free.
func TestRenewalsAmongAttempts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, leaseMode)
	grant := acquire(t, b, "job")
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, opts := range modes {
		other := newBackend(t, dir, opts)
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := other.TryAcquire(t.Context(), request("job")); !errors.Is(err, fencehold.ErrHeld) {
					t.Errorf("attempt on a held lock: %v", err)
				}
			}
		})
	}
	for range rounds(5000) {
		var err error
		if grant, err = b.Renew(t.Context(), grant, limit); err != nil {
			t.Error(err)
			break
		}
	}
	stop()
	all.Wait()
	release(t, b, grant)
}

// A renewal comes when the lease runs out and others are after the lock: it
// succeeds only if nobody had it in between.
func TestRenewalMeetsExpiry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := newBackend(t, dir, nil), newBackend(t, dir, nil)
	var renewed, lost int
	for i := range rounds(300) {
		grant := shortLease(t, a, 100*time.Millisecond)
		end := time.Now().Add(100 * time.Millisecond)
		had := make(chan bool)
		go func() {
			time.Sleep(time.Until(end))
			grant, err := b.TryAcquire(context.Background(), request("job"))
			if err == nil {
				release(t, b, grant)
			}
			had <- err == nil
		}()
		time.Sleep(time.Until(end) - time.Duration(i%20-5)*100*time.Microsecond)
		_, err := a.Renew(t.Context(), grant, limit)
		taken := <-had
		switch {
		case err == nil && taken:
			t.Fatal("renewed a lease although another one had the lock")
		case err == nil:
			renewed++
			release(t, a, grant)
		case errors.Is(err, fencehold.ErrLost):
			lost++
		default:
			t.Fatal(err)
		}
	}
	if renewed == 0 {
		t.Errorf("%d renewals came too late, none in time", lost)
	}
}

// All methods of one grant are called at once: descriptors must not be mixed
// up, and one release wins.
func TestOneGrantFromManyGoroutines(t *testing.T) {
	t.Parallel()
	b := newBackend(t, t.TempDir(), nil)
	for range rounds(1000) {
		grant := acquire(t, b, "job")
		var all sync.WaitGroup
		var mu sync.Mutex
		released := 0
		for range 3 {
			all.Go(func() {
				if err := b.Check(grant); err != nil && !errors.Is(err, fencehold.ErrLost) {
					t.Error(err)
				}
				if fd, err := b.Descriptor(grant); err == nil {
					_ = os.NewFile(fd, "lock").Close()
				}
				switch err := b.Release(context.Background(), grant, 0); {
				case err == nil:
					mu.Lock()
					released++
					mu.Unlock()
				case !errors.Is(err, fencehold.ErrLost):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if released == 0 {
			t.Error("nobody has released the lock")
		}
	}
}

// A process that has had no lock yet waits: who releases must know of it.
func TestFirstWaitOfAProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := newBackend(t, dir, nil)
	var slow int
	n := rounds(200)
	for range n {
		grant := acquire(t, holder, "job")
		fresh := newBackend(t, dir, nil)
		had := make(chan time.Time)
		go func() {
			grant, err := fresh.Acquire(context.Background(), request("job"))
			if err != nil {
				t.Error(err)
			}
			had <- time.Now()
			release(t, fresh, grant)
			had <- time.Now()
		}()
		awaitWaiters(t, holder, "job", 1)
		released := time.Now()
		release(t, holder, grant)
		if (<-had).Sub(released) > minPoll {
			slow++
		}
		<-had
	}
	if slow > n/4 {
		t.Errorf("%d of %d hand-overs took longer than a poll", slow, n)
	}
}

func TestRecordsOfAllLengths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	for _, size := range []int{0, 3000, 10, 700, 100, 3000, 0} {
		for _, lease := range []bool{false, true} {
			req := request("job")
			req.Detached, req.Labels = lease, map[string]string{"text": strings.Repeat("x", size)}
			grant, err := b.TryAcquire(t.Context(), req)
			check(t, err)
			h, err := b.Inspect(t.Context(), "job")
			if err != nil || h.Holder != req.Holder || len(h.Labels["text"]) != size {
				t.Errorf("labels of %d bytes: shown as %.200v, %v", size, h, err)
			}
			content, err := os.ReadFile(lockFile(dir, "job"))
			check(t, err)
			if n := strings.Count(string(content), "\n"); n != 1 || content[len(content)-1] != '\n' || len(content) > 4096 {
				t.Errorf("%d lines in %d bytes", n, len(content))
			}
			release(t, b, grant)
		}
	}
}

func TestDirectoryThatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	check(t, os.RemoveAll(dir))
	mustBeLost(t, b.Check(grant), fencehold.ReasonDeleted)
	var pathErr *fs.PathError
	if _, err := b.TryAcquire(t.Context(), request("job")); !errors.As(err, &pathErr) {
		t.Errorf("attempt: %v", err)
	}
	for _, err := range b.List(t.Context(), "") {
		if !errors.As(err, &pathErr) {
			t.Errorf("list: %v", err)
		}
	}
	mustBeLost(t, b.Release(t.Context(), grant, 0), fencehold.ReasonDeleted)
}

func TestDeadContexts(t *testing.T) {
	t.Parallel()
	b := newBackend(t, t.TempDir(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.TryAcquire(ctx, request("job")); !errors.Is(err, context.Canceled) {
		t.Errorf("attempt: %v", err)
	}
	if _, err := b.Acquire(ctx, request("job")); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v", err)
	}
	grant := acquire(t, b, "job")
	check(t, b.Release(ctx, grant, 0))
	release(t, b, acquire(t, b, "job"))
}
