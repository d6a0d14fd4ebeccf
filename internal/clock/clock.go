// Package clock reads time the way a lease needs it: an interval is never
// taken for shorter than it was.
//
// Go's monotonic clock stops while the machine is suspended
// (golang/go#24595), and no clock of a virtual machine notices that it was
// paused until its wall clock is set right. So an [Instant] remembers three
// readings, and an interval is the longest that any of them admits.
package clock

import (
	"sync/atomic"
	"time"
)

// An Instant is a moment as this process saw it. The zero Instant is no
// moment at all.
type Instant struct {
	at     time.Time     // monotonic and wall clock
	asleep time.Duration // how long the machine has been suspended since it started; -1 if not read
	skew   time.Duration // what a test had added to the wall clock
}

// notRead marks an Instant that trusts the monotonic clock alone.
const notRead time.Duration = -1

var (
	wallSkew   atomic.Int64
	asleepSkew atomic.Int64
)

// Now reads all clocks. How long the machine has slept may be known from a
// millisecond ago: asking for it takes system calls, which cost as much as a
// lock in memory does.
func Now() Instant { return Instant{at: time.Now(), asleep: asleep(), skew: skew()} }

// Monotonic reads the monotonic clock alone, for services that stand still
// when this machine does.
func Monotonic() Instant { return Instant{at: time.Now(), asleep: notRead} }

func skew() time.Duration { return time.Duration(wallSkew.Load()) }

// fresh is how long a reading of the sleep is taken for current. A machine that
// went to sleep within this time since is found out when it is over.
const fresh = time.Millisecond

// reading is how long the machine had slept, and when that was read.
type reading struct {
	at     time.Time
	asleep time.Duration
}

var lastReading atomic.Pointer[reading]

func asleep() time.Duration {
	r := lastReading.Load()
	if r != nil {
		// Tests live in times of their own, which may lie before the reading.
		if age := time.Since(r.at); age < 0 || age > fresh {
			r = nil
		}
	}
	if r == nil {
		r = refresh()
	}
	return r.asleep + time.Duration(asleepSkew.Load())
}

func refresh() *reading {
	r := &reading{at: time.Now(), asleep: readAsleep()}
	lastReading.Store(r)
	return r
}

// Refresh makes the next readings tell the truth about the last millisecond,
// too: for answers on which somebody acts at once.
func Refresh() { refresh() }

// IsZero reports whether i is no moment at all.
func (i Instant) IsZero() bool { return i.at.IsZero() }

// Time returns i as a time that carries a monotonic reading.
func (i Instant) Time() time.Time { return i.at }

// Elapsed is the time since i for certain: what the monotonic clock counted,
// and the time that the machine was suspended.
func (i Instant) Elapsed() time.Duration { return time.Since(i.at) + i.Slept() }

// Slept is how long the machine has been suspended since i; an Instant from
// [Monotonic] does not look, and says 0.
func (i Instant) Slept() time.Duration {
	if i.asleep == notRead {
		return 0
	}
	if slept := asleep() - i.asleep; slept > sleepNoise {
		return slept
	}
	return 0
}

// WallElapsed is the time since i by the wall clock. It exceeds Elapsed when
// the clock was set forward, which is what a virtual machine sees some time
// after it was paused. An Instant from [Monotonic] does not look, and says 0.
func (i Instant) WallElapsed() time.Duration {
	if i.asleep == notRead {
		return 0
	}
	return time.Now().Round(0).Sub(i.at.Round(0)) + skew() - i.skew
}

// sleepNoise is less than any suspend and more than the time between two
// clock readings on a busy machine.
const sleepNoise = 20 * time.Millisecond
