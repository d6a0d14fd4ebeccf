package process

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The clocks of a deadline.
const (
	// Boottime goes on while the machine is suspended.
	Boottime Clock = unix.CLOCK_BOOTTIME
	// Monotonic stands still meanwhile.
	Monotonic Clock = unix.CLOCK_MONOTONIC
)

// A Clock is one that all processes of the machine share.
type Clock int32

// Now reads the clock.
func (c Clock) Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(c), &ts); err != nil {
		panic("process: clock cannot be read: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// An Alarm rings at an absolute time of a clock, also when the machine was
// suspended in between.
type Alarm struct {
	// C receives a value for each ring that was not yet taken notice of.
	C    <-chan struct{}
	file *os.File
	fd   int
}

// NewAlarm returns an alarm that is not set.
func NewAlarm(c Clock) (*Alarm, error) {
	fd, err := unix.TimerfdCreate(int(c), unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	rings := make(chan struct{}, 1)
	a := &Alarm{C: rings, file: os.NewFile(uintptr(fd), "alarm"), fd: fd}
	go a.listen(rings)
	return a, nil
}

// listen waits for the timer until it is closed. It is woken by the poller of the
// runtime, and so holds no thread.
func (a *Alarm) listen(rings chan<- struct{}) {
	var count [8]byte
	for {
		if _, err := a.file.Read(count[:]); err != nil {
			return
		}
		// A timer that was set anew between the wake-up and the read has not expired.
		if binary.NativeEndian.Uint64(count[:]) == 0 {
			continue
		}
		select {
		case rings <- struct{}{}:
		// One ring that nobody has taken notice of says as much as two.
		default:
		}
	}
}

// Set makes the alarm ring at the time at, and not at any set before; 0 means
// not at all.
func (a *Alarm) Set(at time.Duration) {
	if at < 0 {
		at = 1 // the kernel refuses what is before the beginning of its clock
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	_ = unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// Close ends the alarm.
func (a *Alarm) Close() { _ = a.file.Close() }
