//go:build unix

package filelock_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
)

// shortLease acquires a lock in lease mode for a short time.
func shortLease(t *testing.T, b driver.Backend, ttl time.Duration) driver.Grant {
	t.Helper()
	req := request("job")
	req.Detached, req.TTL = true, ttl
	grant, err := b.TryAcquire(t.Context(), req)
	check(t, err)
	return grant
}

func TestLeaseOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	holder := start(t, "hold-lease", dir, "job")
	line := strings.Fields(holder.line())
	holder.signal(syscall.SIGKILL)
	holder.ended()
	held := mustBeHeld(t, b, "job")
	if held.Holder != line[1] || held.Remaining < 20*time.Second || held.Remaining > 30*time.Second {
		t.Errorf("held by %+v", held)
	}

	grant, err := b.Resume(t.Context(), "job", line[1])
	check(t, err)
	if grant.Pinned || grant.Token.String() != line[2] || grant.Holder != line[1] || grant.TTL != held.Remaining &&
		grant.TTL > held.Remaining {
		t.Errorf("resumed %+v", grant)
	}
	check(t, b.Check(grant))
	grant, err = b.Renew(t.Context(), grant, time.Minute)
	check(t, err)
	if grant.TTL > time.Minute || grant.TTL < 59*time.Second {
		t.Errorf("renewed to %v", grant.TTL)
	}
	release(t, b, grant)
	release(t, b, acquire(t, b, "job"))
	_, err = b.Resume(t.Context(), "job", line[1])
	mustBeLost(t, err, fencehold.ReasonExpired)
}

func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	granted := time.Now()
	grant := shortLease(t, b, 300*time.Millisecond)
	next := acquireWithin(t, b, "job", 400*time.Millisecond)
	if took := time.Since(granted); took < 300*time.Millisecond {
		t.Errorf("the lease was over after %v", took)
	}
	_, err := b.Renew(t.Context(), grant, limit)
	mustBeLost(t, err, fencehold.ReasonTakenOver)
	release(t, b, next)
	_, err = b.Renew(t.Context(), grant, limit)
	if !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("renewal of a lease that has run out: %v", err)
	}
	mustBeLost(t, b.Check(shortLeaseOver(t, b)), fencehold.ReasonExpired)
}

func shortLeaseOver(t *testing.T, b driver.Backend) driver.Grant {
	t.Helper()
	grant := shortLease(t, b, 100*time.Millisecond)
	time.Sleep(101 * time.Millisecond)
	return grant
}

func TestRenewalNeverShortens(t *testing.T) {
	t.Parallel()
	b := newBackend(t, t.TempDir(), leaseMode)
	grant := acquire(t, b, "job")
	grant, err := b.Renew(t.Context(), grant, time.Second)
	check(t, err)
	if grant.TTL < limit-5*time.Second {
		t.Errorf("renewal has shortened the lease to %v", grant.TTL)
	}
	if held := mustBeHeld(t, b, "job"); held.Remaining < limit-5*time.Second {
		t.Errorf("the lease has %v left", held.Remaining)
	}
}

func TestMinHold(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t, t.TempDir(), opts)
			grant := acquire(t, b, "job")
			start := time.Now()
			check(t, b.Release(t.Context(), grant, 400*time.Millisecond))
			if held := mustBeHeld(t, b, "job"); held.Holder == grant.Holder || held.Remaining <= 0 {
				t.Errorf("kept taken as %+v", held)
			}
			h, err := b.Inspect(t.Context(), "job")
			check(t, err)
			if !h.Held || !h.Kept || h.Holder == grant.Holder || h.TTL <= 0 || h.TTL > 400*time.Millisecond {
				t.Errorf("kept taken, shown as %+v", h)
			}
			next := acquireWithin(t, b, "job", 500*time.Millisecond)
			if took := time.Since(start); took < 400*time.Millisecond {
				t.Errorf("kept taken for %v", took)
			}
			release(t, b, next)
		})
	}
}

func TestReleaseByNameAndHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, other := newBackend(t, dir, leaseMode), newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	check(t, other.Release(t.Context(), driver.Grant{Name: "job", Holder: grant.Holder}, 0))

	// A process cannot release what another one holds in process mode.
	pinned := acquire(t, other, "job")
	err := b.Release(t.Context(), driver.Grant{Name: "job", Holder: pinned.Holder}, 0)
	if !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("release of another process's grant: %v", err)
	}
	check(t, other.Check(pinned))
	release(t, other, pinned)
	mustBeLost(t, b.Release(t.Context(), driver.Grant{Name: "unknown", Holder: "H"}, 0), fencehold.ReasonDeleted)
}

func TestDescriptorOfALease(t *testing.T) {
	t.Parallel()
	b := newBackend(t, t.TempDir(), leaseMode)
	if _, err := b.Descriptor(acquire(t, b, "job")); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("descriptor of a grant of lease mode: %v", err)
	}
}

func TestB24ShortTTL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	for _, ttl := range []time.Duration{0, -time.Second, 1, 999 * time.Microsecond, 99 * time.Millisecond} {
		req := request("job")
		req.TTL = ttl
		for what, attempt := range map[string]func() (driver.Grant, error){
			"attempt": func() (driver.Grant, error) { return b.TryAcquire(t.Context(), req) },
			"acquire": func() (driver.Grant, error) { return b.Acquire(t.Context(), req) },
			"renew": func() (driver.Grant, error) {
				return b.Renew(t.Context(), driver.Grant{Name: "job", Holder: "H"}, ttl)
			},
		} {
			if _, err := attempt(); !errors.Is(err, fencehold.ErrInvalid) {
				t.Errorf("%s with TTL %v: %v", what, ttl, err)
			}
		}
	}
	if tree := files(t, dir); len(tree) > 0 {
		t.Errorf("refused attempts left %v", tree)
	}
	if b.Info().MinTTL != 100*time.Millisecond {
		t.Errorf("smallest TTL %v", b.Info().MinTTL)
	}
}

func TestTokensAreShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	var last fence.Token
	for _, name := range []string{"a", "b", "a", "c", "b"} {
		grant := acquire(t, b, name)
		if !grant.Token.Valid() || grant.Token <= last {
			t.Errorf("token %d after %d", grant.Token, last)
		}
		last = grant.Token
		release(t, b, grant)
	}
	child := start(t, "mint", dir, "d")
	child.line()
	child.signal(syscall.SIGKILL)
}

// The grant of a living process is not lost; it cannot be taken up either.
func TestResumeOfALivingProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	grant := acquire(t, newBackend(t, dir, nil), "job")
	_, err := newBackend(t, dir, nil).Resume(t.Context(), "job", grant.Holder)
	if !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fencehold.ErrLost) {
		t.Errorf("resume: %v", err)
	}
}

// Labels may be of any characters, and a long note of an earlier victim does
// not keep the next holder out.
func TestRecordHasRoom(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("<", 1000)
	client, err := fencehold.New(newBackend(t, t.TempDir(), nil), fencehold.WithLabels(map[string]string{"k": label}), fencehold.WithDetached(),
		fencehold.WithOwner(strings.Repeat("o", 256)))
	check(t, err)
	name := strings.Repeat("n", 512)
	for range 3 {
		lease, err := client.Mutex(name).TryAcquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h, err := client.Inspect(t.Context(), name)
		if err != nil || h.Labels["k"] != label {
			t.Fatalf("labels came back as %d bytes, %v", len(h.Labels["k"]), err)
		}
		why := strings.Repeat("\\", 256)
		if err := client.Unlock(t.Context(), name, lease.Fence().Holder, why); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Unlock(t.Context(), name, "x", strings.Repeat("w", 257)); !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("a long reason: %v", err)
	}
}
