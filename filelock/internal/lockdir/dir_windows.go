package lockdir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// checkPrivate trusts the access list that a home directory hands on.
func checkPrivate(string) error { return nil }

// syncDir has nothing to do: the system's journal keeps names.
func syncDir(string) error { return nil }

// refuseNetwork refuses a path that names another machine.
func refuseNetwork(path string) error {
	if strings.HasPrefix(filepath.VolumeName(path), `\\`) {
		return &fs.PathError{Op: "use", Path: path, Err: errors.New(
			"is on a network share: name a directory on a local disk, as in file:///C:/DIR")}
	}
	return nil
}
