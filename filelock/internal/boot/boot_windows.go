package boot

import (
	"strconv"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// readID returns an id that the machine has until it is started again:
// the number of its starts.
func readID() (string, error) {
	const path = `SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return "", err
	}
	defer func() { _ = key.Close() }()
	n, _, err := key.GetIntegerValue("BootId")
	return strconv.FormatUint(n, 10), err
}

// sinceBoot goes on while the machine is suspended.
func sinceBoot() time.Duration { return windows.DurationSinceBoot() }
