package fencehold

import (
	"time"

	"github.com/fencehold/fencehold/driver"
)

// Two clocks may differ in rate by one part in driftShare, and a service may
// be driftSlack late in counting. A hundredth and 2 ms are what Redlock takes
// too; they cover ordinary NTP slewing, not chrony's fastest.
const (
	driftShare = 100
	driftSlack = 2 * time.Millisecond
)

// The margin is kept back before the service may give the lock away, so that
// the signal arrives in time.
const (
	marginShare = 50
	minMargin   = 10 * time.Millisecond
)

// stepNoise is what the wall clock may gain by being slewed, or between two
// readings, without having been set.
const stepNoise = 20 * time.Millisecond

// A term is how long one grant or renewal can be trusted. It counts from a
// clock reading taken before the request was sent: the service cannot have
// begun to count earlier.
type term struct {
	sent   driver.Instant
	ttl    time.Duration
	pinned bool
}

func termOf(g driver.Grant) term { return term{sent: g.Sent, ttl: g.TTL, pinned: g.Pinned} }

// length is the time from sent to the end.
func (t term) length() time.Duration {
	return t.ttl - t.ttl/driftShare - driftSlack - t.margin()
}

// margin is kept back at the end.
func (t term) margin() time.Duration { return max(minMargin, t.ttl/marginShare) }

// left is what remains by the clocks that are certain.
func (t term) left() time.Duration { return t.length() - t.sent.Elapsed() }

// over reports whether the term has certainly ended.
func (t term) over() bool { return !t.pinned && t.left() <= 0 }

// doubtful reports whether the wall clock was set so far forward that the term
// would be over by it.
func (t term) doubtful() bool {
	if t.pinned {
		return false
	}
	// The wall is read first: what passes between the two readings is no step.
	wall := t.sent.WallElapsed()
	return wall >= t.length() && wall-t.sent.Elapsed() > stepNoise
}

// holds reports whether the term can be trusted now.
func (t term) holds() bool { return !t.over() && !t.doubtful() }

// end is the end on this process's clock, if the machine is not suspended any
// more until then.
func (t term) end() time.Time { return t.sent.Time().Add(t.length() - t.sent.Slept()) }

// later returns the term that ends later.
func (t term) later(u term) term {
	if u.left() > t.left() {
		return u
	}
	return t
}
