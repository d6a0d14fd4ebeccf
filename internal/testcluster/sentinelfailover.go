package testcluster

import (
	"errors"
	"fmt"
	"time"
)

// swapLimit is how long an ordered failover may take before it is ordered
// again: sentinels of a busy machine may undo one at once.
const swapLimit = 10 * time.Second

// Failover makes the sentinels replace the primary, and returns when all of
// them name a new one, which takes writes, and when the old one is a replica
// of it.
func (s *Sentinel) Failover() {
	s.tb.Helper()
	old := s.Primary()
	err := await(settleLimit, settleEvery, func() error { return s.swap(old) })
	if err != nil {
		giveUp(s.tb, s.all(), "failover", err)
	}
}

// swap orders one failover and waits for its end.
func (s *Sentinel) swap(old *Redis) error {
	if err := s.order(); err != nil {
		return err
	}
	return await(swapLimit, settleEvery, func() error {
		primary, err := s.successor(old)
		if err != nil {
			return err
		}
		return old.follows(primary)
	})
}

// order tells one sentinel to fail over.
func (s *Sentinel) order() error {
	err := errors.New("there is no sentinel")
	for _, r := range s.sentinels {
		if _, err = r.ask(probeLimit, "SENTINEL", "FAILOVER", PrimaryName); err == nil {
			return nil
		}
	}
	return err
}

// WaitFailover waits until all sentinels that answer name one primary, which is
// not old and takes writes, and returns it. It is for tests that killed or
// paused old.
func (s *Sentinel) WaitFailover(old *Redis) *Redis {
	s.tb.Helper()
	var primary *Redis
	err := await(settleLimit, settleEvery, func() (err error) {
		primary, err = s.successor(old)
		return err
	})
	if err != nil {
		giveUp(s.tb, s.all(), "no new primary", err)
	}
	return primary
}

// successor returns the primary that all sentinels name if it is not old.
func (s *Sentinel) successor(old *Redis) (*Redis, error) {
	var primary *Redis
	for _, r := range live(s.sentinels) {
		p, err := s.named(r)
		if err != nil {
			return nil, err
		}
		if p == old || primary != nil && p != primary {
			return nil, fmt.Errorf("sentinel %s still names %s", r.Addr(), p.Addr())
		}
		primary = p
	}
	if primary == nil {
		return nil, errors.New("no sentinel answers")
	}
	return primary, primary.isPrimary()
}
