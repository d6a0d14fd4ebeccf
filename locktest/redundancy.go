package locktest

import (
	"sync/atomic"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

var redundancyTests = []test{
	{name: "RedundancyOfALease", run: testRedundancy},
}

// With all servers well, a lease can spare some soon, also after a renewal, and says
// so while it is held. Other backends have nothing to tell.
func testRedundancy(t *testing.T, s *suite) {
	backend := s.open(t)
	_, redundant := backend.(driver.Redundant)
	var bare atomic.Int32
	client := s.clientOn(t, backend, fencehold.WithTTL(max(limit, s.info.MinTTL)), fencehold.WithHooks(fencehold.Hooks{
		RedundancyLost: func(fencehold.Event) { bare.Add(1) },
	}))
	lease := acquire(t, client, name(t))
	spares := func() bool {
		spare, ok := lease.Redundancy()
		return ok && spare > 0
	}
	if redundant {
		eventually(t, "a lease that can spare a server", spares)
	}
	if err := lease.Extend(bounded(t), max(limit, s.info.MinTTL)); err != nil {
		t.Fatal(err)
	}
	if redundant {
		eventually(t, "a renewed lease that can spare a server", spares)
	}
	if _, ok := lease.Redundancy(); ok != redundant {
		t.Errorf("redundancy is known: %v, want %v", ok, redundant)
	}
	release(t, lease)
	if spare, ok := lease.Redundancy(); ok {
		t.Errorf("a released lease can spare %d servers", spare)
	}
	if n := bare.Load(); n != 0 {
		t.Errorf("told %d times that nothing is left to spare", n)
	}
}
