package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// closeEnough is how far apart the readings of two clocks may be, and tries
// how often that is tried on a machine that has other things to do in between.
const (
	closeEnough = time.Millisecond
	tries       = 10
)

// readAsleep returns how long the machine has slept since it started: the clock
// that counts sleep, less the one that does not. What passes between the two
// readings looks like less sleep; of several tries the closest counts.
func readAsleep() time.Duration {
	var slept time.Duration
	closest := time.Duration(-1)
	for range tries {
		before := read(unix.CLOCK_MONOTONIC)
		boot := read(unix.CLOCK_BOOTTIME)
		after := read(unix.CLOCK_MONOTONIC)
		if apart := after - before; closest < 0 || apart < closest {
			closest, slept = apart, boot-after
		}
		if closest < closeEnough {
			break
		}
	}
	return max(slept, 0)
}

func read(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
