//go:build unix

package lockdir

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// checkPrivate refuses a directory that another user owns or can write in.
func checkPrivate(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	var reason string
	switch uid := os.Geteuid(); {
	case int(st.Uid) != uid:
		reason = "belongs to user " + strconv.Itoa(int(st.Uid)) + ", must belong to user " + strconv.Itoa(uid)
	case st.Mode&0o022 != 0:
		reason = "others can write in it: must be mode 0700"
	default:
		return nil
	}
	return &fs.PathError{Op: "use", Path: path, Err: errors.New(reason)}
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// refuseNetwork refuses a directory whose locks other machines would not see
// in the same way.
func refuseNetwork(path string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	kind := networkKind(&st)
	if kind == "" {
		return nil
	}
	return &fs.PathError{Op: "use", Path: path, Err: errors.New(
		"is on a network file system (" + kind + "): name a directory on a local disk, as in file:///DIR")}
}
