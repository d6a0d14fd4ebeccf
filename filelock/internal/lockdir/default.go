package lockdir

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Default returns the path of the default directory, .local/state/fencehold in
// the home directory that the user database has for the effective user. The
// environment plays no part: a cron job, a service and a shell of one user find
// the same locks.
func Default() (string, error) {
	home, err := homeDir()
	if err != nil {
		return "", &fs.PathError{Op: "find", Path: "the default lock directory", Err: err}
	}
	return filepath.Join(home, ".local", "state", "fencehold"), nil
}

// homeDir returns the home of the effective user, or says what to do without one.
func homeDir() (string, error) {
	u, err := currentUser()
	switch {
	case err != nil:
		return "", errors.Join(err, errors.New("name a directory instead, as in file:///DIR"))
	case !filepath.IsAbs(u.HomeDir):
		return "", errors.New("user " + u.Username + " has no home: name a directory, as in file:///DIR")
	}
	return u.HomeDir, nil
}

// currentUser is the effective user where there is one.
func currentUser() (*user.User, error) {
	// user.Current would look at the real user, and at the environment: in a
	// set-uid program both are those of whoever started it. The id is -1 on
	// Windows, which has none.
	if uid := os.Geteuid(); uid >= 0 {
		return user.LookupId(strconv.Itoa(uid))
	}
	return user.Current()
}

// makeDefault makes the default directory with all its parents.
func makeDefault() (string, error) {
	path, err := Default()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	// Looked at after it was made, and whoever made it: whoever can write in
	// it can break every promise.
	return path, checkPrivate(path)
}
