package boot

import (
	"time"

	"golang.org/x/sys/unix"
)

// readID returns an id that the machine has until it is started again.
func readID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// sinceBoot goes on while the machine is suspended: so does CLOCK_MONOTONIC
// on this system.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	// The call cannot fail: the kernel has this clock, and ts is there.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}
