package locktest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// slack is what a busy machine may add to a time that is being checked.
const slack = 250 * time.Millisecond

// limit ends whatever hangs.
const limit = 30 * time.Second

// A suite is one backend under test.
type suite struct {
	open func(*testing.T) driver.Backend
	info driver.Info
	// ttl is short and leaves room for a busy machine, and lasting asks for a lease that
	// runs out by time on backends whose leases usually do not.
	ttl     time.Duration
	lasting []fencehold.Option
}

// Run tests the backends that open returns: each call of it opens another
// connection to the same service, as another process would.
func Run(t *testing.T, open func(t *testing.T) driver.Backend) {
	s := newSuite(t, open)
	for _, part := range [][]test{
		exclusionTests, fencingTests, expiryTests, queueTests, releaseTests,
		cancelTests, inspectTests, argumentTests, closingTests, redundancyTests,
	} {
		for _, part := range part {
			if part.needs != 0 && !s.info.Features.Has(part.needs) {
				continue
			}
			t.Run(part.name, func(t *testing.T) {
				t.Parallel()
				part.run(t, s)
			})
		}
	}
}

// test is one promise, made by the backends that have what it needs.
type test struct {
	name  string
	needs driver.Features
	run   func(*testing.T, *suite)
}

func newSuite(t *testing.T, open func(*testing.T) driver.Backend) *suite {
	t.Helper()
	backend := open(t)
	defer backend.Close()
	s := &suite{open: open, info: backend.Info()}
	s.ttl = max(s.info.MinTTL, 500*time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	req := s.request(t, "probe")
	grant, err := backend.TryAcquire(ctx, req)
	if err != nil {
		t.Fatalf("acquire on a fresh service: %v", err)
	}
	if grant.Pinned {
		s.lasting = []fencehold.Option{fencehold.WithDetached()}
	}
	if err := backend.Release(ctx, grant, 0); err != nil {
		t.Fatalf("release: %v", err)
	}
	return s
}

// client opens a client of its own, closed with the test.
func (s *suite) client(t *testing.T, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	return s.clientOn(t, s.open(t), opts...)
}

func (s *suite) clientOn(t *testing.T, backend driver.Backend, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	opts = append([]fencehold.Option{fencehold.WithTTL(s.ttl)}, opts...)
	client, err := fencehold.New(backend, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return client
}

// runsOut opens a client whose leases run out by time, without renewal.
func (s *suite) runsOut(t *testing.T, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	opts = append([]fencehold.Option{fencehold.WithoutRenewal()}, opts...)
	return s.client(t, append(opts, s.lasting...)...)
}

// name returns a lock name that no other test uses.
func name(t *testing.T) string {
	return t.Name() + "/" + driver.NewHolder()
}

// request returns a request for the driver's own methods, for a grant that
// runs out by time if the backend has any.
func (s *suite) request(t *testing.T, name string) driver.Request {
	return driver.Request{
		Name: t.Name() + "/" + name, Holder: driver.NewHolder(), Owner: "locktest", TTL: s.ttl,
		Detached: len(s.lasting) > 0,
	}
}

// bounded returns a context that ends what hangs.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// rounds returns n, or a tenth of it outside of the full conformance run.
func rounds(n int) int {
	if os.Getenv("FENCEHOLD_CONFORMANCE") == "full" {
		return n
	}
	return max(1, n/10)
}

func acquire(t *testing.T, c *fencehold.Client, name string, opts ...fencehold.Option) *fencehold.Lease {
	t.Helper()
	lease, err := c.Mutex(name, opts...).Acquire(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func release(t *testing.T, lease *fencehold.Lease) {
	t.Helper()
	if err := lease.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// mustBe fails unless err is one of the outcome that is wanted, and no other.
func mustBe(t *testing.T, err, want error) {
	t.Helper()
	outcomes := []error{
		fencehold.ErrHeld, fencehold.ErrLost, fencehold.ErrReleased, fencehold.ErrUnavailable,
		fencehold.ErrInvalid, fencehold.ErrClosed, errors.ErrUnsupported, context.Canceled, context.DeadlineExceeded,
	}
	for _, outcome := range outcomes {
		if is := errors.Is(err, outcome); is != errors.Is(want, outcome) {
			t.Fatalf("error %q: errors.Is(err, %q) = %v; want only %q", err, outcome, is, want)
		}
	}
}

// within fails if something took longer than it may on a busy machine.
func within(t *testing.T, what string, took, allowed time.Duration) {
	t.Helper()
	if took > allowed+slack {
		t.Errorf("%s took %v, want at most %v", what, took.Round(time.Millisecond), allowed)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
