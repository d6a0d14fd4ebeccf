//go:build unix && !darwin

package counter

import "golang.org/x/sys/unix"

// flush puts the file on the disk.
func flush(fd int) error { return unix.Fsync(fd) }
