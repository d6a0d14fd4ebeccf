package locktest

import (
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

var fencingTests = []test{
	{name: "TokensRise", needs: driver.Fencing, run: testTokensRise},
	{name: "TokensRiseAcrossReopen", needs: driver.Fencing, run: testTokensAcrossReopen},
	{name: "TokensRiseAcrossExpiry", needs: driver.Fencing, run: testTokensAcrossExpiry},
	{name: "SameHolderSameGrant", run: testSameHolder},
	{name: "FenceOfALease", needs: driver.Fencing, run: testFence},
}

// rising fails unless token is larger than *last, and keeps it there.
func rising(t *testing.T, last *fencehold.Token, token fencehold.Token) {
	t.Helper()
	if token <= *last || !token.Valid() {
		t.Fatalf("token %v after %v: must rise, below 2^53", token, *last)
	}
	*last = token
}

func testTokensRise(t *testing.T, s *suite) {
	clients := []*fencehold.Client{s.client(t), s.client(t)}
	lock := name(t)
	var last fencehold.Token
	for i := range rounds(200) {
		lease := acquire(t, clients[i%2], lock)
		rising(t, &last, lease.Token())
		release(t, lease)
	}
}

func testTokensAcrossReopen(t *testing.T, s *suite) {
	lock := name(t)
	var last fencehold.Token
	for range rounds(50) {
		client := s.client(t)
		rising(t, &last, acquire(t, client, lock).Token())
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func testTokensAcrossExpiry(t *testing.T, s *suite) {
	client, lock := s.runsOut(t), name(t)
	var last fencehold.Token
	for range 3 {
		rising(t, &last, acquire(t, client, lock).Token())
	}
}

// An attempt that is repeated under its holder id is answered with its grant.
func testSameHolder(t *testing.T, s *suite) {
	backend := s.open(t)
	defer backend.Close()
	req := s.request(t, "job")
	first, err := backend.TryAcquire(bounded(t), req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := backend.TryAcquire(bounded(t), req)
	if err != nil {
		t.Fatalf("second attempt of the same holder: %v", err)
	}
	if again.Token != first.Token || again.Holder != first.Holder || again.TTL > first.TTL {
		t.Errorf("second attempt got %+v, the first %+v", again, first)
	}
	if err := backend.Release(bounded(t), again, 0); err != nil {
		t.Error(err)
	}
}

func testFence(t *testing.T, s *suite) {
	client, lock := s.client(t), name(t)
	lease := acquire(t, client, lock)
	first := lease.Fence()
	release(t, lease)
	lease = acquire(t, client, lock)
	second := lease.Fence()
	release(t, lease)
	if first.Name != lock || first.Holder == "" || first.Holder == second.Holder {
		t.Errorf("fences %v and %v of %q: want the name, and a holder id for each grant", first, second, lock)
	}
	if !second.Supersedes(first) || first.Supersedes(second) {
		t.Errorf("fence %v must supersede %v", second, first)
	}
}
