package locktest

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

var argumentTests = []test{
	{name: "B57NamesAccepted", run: testNames},
	{name: "B57NamesRefused", run: testBadNames},
	{name: "B24DurationsRefused", run: testDurations},
	{name: "B24EffectiveTTL", run: testEffectiveTTL},
	{name: "FeaturesRefused", run: testFeatures},
}

// Names that differ in a byte are different locks: all are held at once.
func testNames(t *testing.T, s *suite) {
	client := s.client(t, fencehold.WithTTL(max(limit, s.info.MinTTL)))
	id := driver.NewHolder()[:8]
	long := strings.Repeat("n", 300)
	for _, lock := range []string{
		" ", "a", " a", "a ", "A", "x/y", "x%2Fy", "../../x", ".", "..", ".hidden", "a.lock", "a.line", "-n", "~",
		"e\u0301", "\u00e9", "日本語", `quoted "name"`, "back\\slash", "semi;colon", "{tag}", "a}b", "%", "fh!x",
		strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 65),
		strings.Repeat("x", 255), strings.Repeat("x", 256), long + "1", long + "2", strings.Repeat("é", 256),
	} {
		if len(lock)+len(id) <= 512 {
			lock += id // other tests may run on the same service
		}
		lease, err := client.Mutex(lock).TryAcquire(bounded(t))
		if err != nil {
			t.Errorf("name %q: %v", lock, err)
			continue
		}
		defer release(t, lease)
		_, err = client.Mutex(lock).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrHeld)
	}
}

func testBadNames(t *testing.T, s *suite) {
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend)
	for _, lock := range []string{
		"", "new\nline", "nul\x00", "tab\t", "bad\xffutf8", "\x7f", strings.Repeat("x", 513), strings.Repeat("x", 10_000),
	} {
		_, err := client.Mutex(lock).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrInvalid)
		_, err = client.Mutex(lock).Acquire(bounded(t))
		mustBe(t, err, fencehold.ErrInvalid)
	}
	if n := backend.count("try"); n != 0 {
		t.Errorf("%d requests for names that are refused", n)
	}
}

func testDurations(t *testing.T, s *suite) {
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend)
	lock := name(t)
	lease := acquire(t, client, lock)
	tries := backend.count("try")
	bad := []time.Duration{
		0, -time.Second, 1, 999 * time.Microsecond, time.Millisecond, s.info.MinTTL - 1, math.MaxInt64, math.MinInt64,
	}
	if s.info.MaxTTL > 0 {
		bad = append(bad, s.info.MaxTTL+1)
	}
	for _, d := range bad {
		_, err := client.Mutex(lock, fencehold.WithTTL(d)).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrInvalid)
		if !strings.Contains(err.Error(), d.String()) {
			t.Errorf("error %q does not name the TTL %v", err, d)
		}
		mustBe(t, lease.Extend(bounded(t), d), fencehold.ErrInvalid)
	}
	for _, opt := range []fencehold.Option{
		fencehold.WithMaxWait(-1), fencehold.WithMaxWait(1), fencehold.WithMaxHold(0),
		fencehold.WithMinHold(-time.Second), fencehold.WithProgress(0), fencehold.WithMaxWait(math.MaxInt64),
	} {
		_, err := client.Mutex(lock, opt).TryAcquire(bounded(t))
		mustBe(t, err, fencehold.ErrInvalid)
	}
	if n := backend.count("try"); n != tries {
		t.Errorf("%d requests for durations that are refused", n-tries)
	}
	if n := backend.count("renew"); n != 0 {
		t.Errorf("%d renewals for durations that are refused", n)
	}
	release(t, lease)
}

func testEffectiveTTL(t *testing.T, s *suite) {
	client := s.runsOut(t)
	longest := 90 * time.Second
	if s.info.MaxTTL > 0 {
		longest = min(longest, s.info.MaxTTL)
	}
	for _, ttl := range []time.Duration{s.info.MinTTL, s.info.MinTTL + 1500*time.Microsecond, longest} {
		lease := acquire(t, client, name(t), fencehold.WithTTL(ttl))
		if got := lease.TTL(); got < ttl-time.Millisecond || got > ttl+time.Second {
			t.Errorf("asked for a TTL of %v, granted %v", ttl, got)
		}
		if left := time.Until(lease.Expires()); left >= lease.TTL() {
			t.Errorf("%v left of a TTL of %v", left, lease.TTL())
		}
		release(t, lease)
	}
}

// What a backend does not promise, it refuses before anything is sent.
func testFeatures(t *testing.T, s *suite) {
	for _, f := range []driver.Features{
		driver.Fencing, driver.Durable, driver.FairQueue, driver.MinHold, driver.Detached,
	} {
		client, err := fencehold.New(s.open(t), fencehold.WithFeatures(f))
		if !s.info.Features.Has(f) {
			mustBe(t, err, errors.ErrUnsupported)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = client.Close()
	}
	client := s.client(t)
	if !s.info.Features.Has(driver.MinHold) {
		_, err := client.Mutex(name(t), fencehold.WithMinHold(time.Second)).TryAcquire(bounded(t))
		mustBe(t, err, errors.ErrUnsupported)
	}
	if !s.info.Features.Has(driver.Detached) {
		_, err := client.Mutex(name(t), fencehold.WithDetached()).TryAcquire(bounded(t))
		mustBe(t, err, errors.ErrUnsupported)
	}
}
