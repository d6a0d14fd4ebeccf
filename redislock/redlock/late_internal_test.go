package redlock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// TestAttemptDecidedTooLate has a client that was stopped decide an attempt: a node
// that it counts on may have forgotten its answer, and have joined again.
func TestAttemptDecidedTooLate(t *testing.T) {
	var urls []string
	for range 3 {
		urls = append(urls, testcluster.StartRedis(t).URL())
	}
	opened, err := Open(context.Background(), urls...)
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*backend)
	defer func() { _ = b.Close() }()
	marker, err := b.ready(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sent driver.Instant
		want error
	}{{driver.Now(), nil}, {driver.Instant{}, errLate}} {
		h, _ := b.holds.begin(&hold{known: b.keys.of("job"), holder: driver.NewHolder(), ttl: time.Minute})
		r := b.newRound(h.ttl, redislock.Call{Script: acquireScript, Keys: h.known.all, Args: []string{
			h.holder, millis(h.ttl), h.meta, marker, proposal(), b.keys.kin, "try",
		}})
		r.note = func(n *node, got reply) { b.noteGrant(h, n, got) }
		r.start(0)
		if outcome, err := r.wait(context.Background()); outcome != quorum.Won {
			t.Fatalf("outcome %v, %v", outcome, err)
		}
		_, err := b.fix(context.Background(), h, r, c.sent)
		if !errors.Is(err, c.want) {
			t.Errorf("decided after %v: %v, want %v", c.sent.Elapsed(), err, c.want)
		}
		if err := b.Release(context.Background(), driver.Grant{Name: "job", Holder: h.holder, TTL: h.ttl}, 0); err != nil {
			t.Fatal(err)
		}
	}
}
