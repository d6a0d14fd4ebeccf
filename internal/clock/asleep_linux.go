package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// readAsleep is CLOCK_BOOTTIME minus CLOCK_MONOTONIC: only the former goes on
// while the machine is suspended. A reading that was interrupted between the
// two clocks is repeated.
func readAsleep() time.Duration {
	var slept time.Duration
	for range 3 {
		before := read(unix.CLOCK_MONOTONIC)
		boot := read(unix.CLOCK_BOOTTIME)
		after := read(unix.CLOCK_MONOTONIC)
		slept = boot - after
		if after-before < time.Millisecond {
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
