package lockfile

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// foreign reports whether anybody has flock(2)ed the file, and their process
// id. The kernel's list shows processes of this pid namespace, and only on
// file systems that have a device number of their own.
func (f *File) foreign() (bool, int, error) {
	locks, err := os.Open("/proc/locks")
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	defer locks.Close()
	// Some file systems report another number for their files than the kernel
	// has in its list: nothing is found then, and the holder is felt but not
	// shown.
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(f.id.dev), unix.Minor(f.id.dev), f.id.ino)
	lines := bufio.NewScanner(locks)
	for lines.Scan() {
		// 1: FLOCK  ADVISORY  WRITE 4321 fe:00:131 0 EOF
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != want {
			continue
		}
		var pid int
		_, err := fmt.Sscan(fields[4], &pid)
		return true, pid, err
	}
	return false, 0, lines.Err()
}
