package fencehold_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/memlock"
)

// How a lease ended is told the same by Done, Err and Context, whether somebody
// asked before the end, after it, or both.
func TestEndIsToldBeforeAndAfter(t *testing.T) {
	for name, end := range map[string]struct {
		of   func(*fencehold.Client, *fencehold.Lease) error
		want error
	}{
		"release": {func(_ *fencehold.Client, l *fencehold.Lease) error {
			return l.Release(context.Background())
		}, fencehold.ErrReleased},
		"loss": {func(c *fencehold.Client, l *fencehold.Lease) error {
			return c.Unlock(context.Background(), "job", l.Fence().Holder, "test")
		}, fencehold.ErrLost},
		"close": {func(c *fencehold.Client, _ *fencehold.Lease) error { return c.Close() }, fencehold.ErrLost},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " unasked", true: " asked"}[asked], func(t *testing.T) {
				bubble(t, func(t *testing.T, server *memlock.Server) {
					client := newClient(t, server)
					lease := acquire(t, client, "job")
					var before <-chan struct{}
					work := context.Background()
					if asked {
						before, work = lease.Done(), lease.Context(work)
						mustBeOpen(t, before)
					}
					if err := end.of(client, lease); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					mustHaveEnded(t, lease, end.want)
					if asked {
						<-before
						mustEndWith(work, t, end.want)
					}
				})
			})
		}
	}
}

func mustBeOpen(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
		t.Fatal("done while it is held")
	default:
	}
}

// mustHaveEnded demands that whoever asks a lease now is told its end.
func mustHaveEnded(t *testing.T, lease *fencehold.Lease, want error) {
	t.Helper()
	<-lease.Done()
	<-lease.Done()
	err := lease.Err()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), " job ") {
		t.Errorf("error %v, want %v, with the name of the lock", err, want)
	}
	mustEndWith(lease.Context(context.Background()), t, want)
	if lease.Valid() {
		t.Error("valid after its end")
	}
}

func mustEndWith(work context.Context, t *testing.T, want error) {
	t.Helper()
	<-work.Done()
	if cause := context.Cause(work); !errors.Is(work.Err(), context.Canceled) || !errors.Is(cause, want) {
		t.Errorf("the work ended with %v, because of %v; want %v", work.Err(), cause, want)
	}
}
