package boot

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// readID returns an id that the machine has until it is started again.
func readID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// sinceBoot goes on while the machine is suspended.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	// The call cannot fail: the kernel has this clock, and ts is there.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}
