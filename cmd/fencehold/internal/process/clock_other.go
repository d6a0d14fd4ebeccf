//go:build unix && !linux

package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// The clocks of a deadline. Where there is no timer that goes on while the
// machine is suspended, both stand still.
const (
	Boottime Clock = iota
	Monotonic
)

// A Clock is one that all processes of the machine share.
type Clock int32

// Now reads the clock.
func (c Clock) Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("process: clock cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// An Alarm rings at an absolute time of a clock.
type Alarm struct {
	// C receives a value for each ring that was not yet taken notice of.
	C     <-chan struct{}
	clock Clock
	timer *time.Timer
}

// NewAlarm returns an alarm that is not set.
func NewAlarm(c Clock) (*Alarm, error) {
	rings := make(chan struct{}, 1)
	timer := time.AfterFunc(time.Hour, func() {
		select {
		case rings <- struct{}{}:
		default:
		}
	})
	timer.Stop()
	return &Alarm{C: rings, clock: c, timer: timer}, nil
}

// Set makes the alarm ring at the time at, and not at any set before; 0 means
// not at all.
func (a *Alarm) Set(at time.Duration) {
	a.timer.Stop()
	if at > 0 {
		// A pause here makes it ring late by as much, which an absolute timer would not.
		a.timer.Reset(at - a.clock.Now())
	}
}

// Close ends the alarm.
func (a *Alarm) Close() { a.timer.Stop() }
