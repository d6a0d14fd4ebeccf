package locktest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

var cancelTests = []test{
	{name: "B15CancelledWhileGranted", run: testCancelledWhileGranted},
	{name: "B17LostReplyToAcquire", run: testLostReply},
	{name: "B17LostRepliesToAcquire", run: testLostReplies},
	{name: "DeadContextIsNotAsked", run: testDeadContext},
}

// Acquire is cancelled at any moment; whatever it returns, nothing stays.
func testCancelledWhileGranted(t *testing.T, s *suite) {
	client, lock := s.client(t), name(t)
	for range rounds(1000) {
		ctx, cancel := context.WithTimeout(context.Background(), rand.N(2*time.Millisecond))
		lease, err := client.Mutex(lock).Acquire(ctx)
		cancel()
		if err == nil {
			release(t, lease)
			continue
		}
		mustBe(t, err, context.DeadlineExceeded)
	}
	start := time.Now()
	release(t, acquire(t, s.client(t), lock))
	within(t, "the grant after cancelled attempts", time.Since(start), time.Second)
	s.awaitFree(t, lock)
}

// The answer is lost, the repeated attempt finds the grant.
func testLostReply(t *testing.T, s *suite) {
	lock := name(t)
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend)
	backend.loseReplies("try", 1)
	start := time.Now()
	lease, err := client.Mutex(lock).TryAcquire(bounded(t))
	if err != nil {
		t.Fatalf("one lost answer: %v", err)
	}
	within(t, "an attempt with a lost answer", time.Since(start), time.Second)
	release(t, lease)
}

// The repeated attempt is lost too: the outcome is unknown, and undone.
func testLostReplies(t *testing.T, s *suite) {
	lock := name(t)
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend, fencehold.WithTTL(max(10*time.Second, s.info.MinTTL)))
	backend.loseReplies("try", 2)
	_, err := client.Mutex(lock).TryAcquire(bounded(t))
	mustBe(t, err, fencehold.ErrUnavailable)
	start := time.Now()
	release(t, acquire(t, s.client(t), lock))
	within(t, "the grant after an unknown outcome", time.Since(start), time.Second)
}

func testDeadContext(t *testing.T, s *suite) {
	backend := newFaulty(s.open(t))
	client := s.clientOn(t, backend)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := client.Mutex(name(t)).TryAcquire(ctx)
	mustBe(t, err, context.Canceled)
	_, err = client.Mutex(name(t)).Acquire(ctx)
	mustBe(t, err, context.Canceled)
	if n := backend.count("try"); n != 0 {
		t.Errorf("%d requests under a dead context", n)
	}
}
