package filelock

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// stateDir holds everything but the lock files. No lock file begins with a
// dot, so none can have its name.
const stateDir = ".fencehold"

// A directory is where the locks are kept. What is made in it follows its
// permission bits: where a group may write in it, the group may use the locks.
type directory struct {
	path     string
	state    string
	fileMode fs.FileMode
	dirMode  fs.FileMode
}

// DefaultDir returns the directory of the URL file://, which is
// .local/state/fencehold in the home directory that the user database has for
// the effective user. The environment plays no part: a cron job, a service and
// a shell of one user find the same locks.
func DefaultDir() (string, error) {
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

// currentUser is the effective user where there is one. [user.Current] would
// look at the real one, and at the environment.
func currentUser() (*user.User, error) {
	if uid := os.Geteuid(); uid >= 0 {
		return user.LookupId(strconv.Itoa(uid))
	}
	return user.Current()
}

// openDirectory makes sure that path, or the default directory, can keep
// locks.
func openDirectory(path string) (*directory, error) {
	var err error
	if path == "" {
		path, err = makeDefaultDir()
	} else {
		err = makeDir(path)
	}
	if err != nil {
		return nil, err
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "use", Path: path, Err: errors.New("not a directory")}
	}
	if err := refuseNetwork(path); err != nil {
		return nil, err
	}
	d := &directory{
		path:     path,
		state:    filepath.Join(path, stateDir),
		fileMode: fileMode(info.Mode()),
		dirMode:  info.Mode() & dirBits,
	}
	if runtime.GOOS == "windows" {
		// Access lists are handed on by the system.
		d.dirMode, d.fileMode = 0o700, 0o600
	}
	return d, d.checkState()
}

// fileMode lets those read and write files who can make them.
func fileMode(dir fs.FileMode) fs.FileMode {
	mode := fs.FileMode(0o600)
	if dir&0o020 != 0 {
		mode |= 0o060
	}
	if dir&0o002 != 0 {
		mode |= 0o006
	}
	return mode
}

// dirBits are what a directory hands on to those made in it.
const dirBits = fs.ModePerm | fs.ModeSetgid | fs.ModeSticky

// makeDefaultDir makes the default directory with all its parents.
func makeDefaultDir() (string, error) {
	path, err := DefaultDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	return path, checkPrivate(path)
}

// makeDir makes a directory whose parent exists: a path with a slip in it is more
// often an error than a wish.
func makeDir(path string) error {
	if !filepath.IsAbs(path) {
		return invalid("lock directory %q: must be an absolute path", path)
	}
	return ignoreExist(os.Mkdir(path, 0o700))
}

// checkState refuses a state directory that leads out of the directory.
func (d *directory) checkState() error {
	info, err := os.Lstat(d.state)
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "use", Path: d.state, Err: errors.New("not a directory")}
	}
	return nil
}

// mkdir makes a directory below d unless there is one. Where others may use it
// it has d's permission bits, whatever the umask, from the moment it is seen.
func (d *directory) mkdir(path string) error {
	if d.dirMode&0o022 == 0 {
		return ignoreExist(os.Mkdir(path, d.dirMode))
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), tempPrefix+"*")
	if err != nil {
		return err
	}
	err = os.Chmod(temp, d.dirMode)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(ignoreExist(err), os.Remove(temp))
	}
	return nil
}

// ignoreExist is for those who do not mind that somebody was quicker.
func ignoreExist(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// create makes a file of this content unless there is one. Nobody ever sees
// it half written, or with permissions that the umask cut.
func (d *directory) create(path string, content []byte) error {
	temp, err := os.CreateTemp(d.state, tempPrefix+"*")
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.mkdir(d.state); err != nil {
			return err
		}
		d.sweep()
		temp, err = os.CreateTemp(d.state, tempPrefix+"*")
	}
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	err = d.fill(temp, content)
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := ignoreExist(os.Link(temp.Name(), path)); err != nil {
		return err
	}
	if content == nil {
		return nil
	}
	return syncDir(filepath.Dir(path))
}

// tempPrefix begins the names of files that are not ready yet.
const tempPrefix = ".new-"

// fill gives a file its permissions, and its content if that has to last.
func (d *directory) fill(temp *os.File, content []byte) error {
	if err := temp.Chmod(d.fileMode); err != nil {
		return err
	}
	if content == nil {
		return nil
	}
	if _, err := temp.Write(content); err != nil {
		return err
	}
	return temp.Sync()
}

// sweep removes what processes left behind that were killed inside create.
func (d *directory) sweep() {
	entries, err := os.ReadDir(d.state)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if name := entry.Name(); len(name) > len(tempPrefix) && name[:len(tempPrefix)] == tempPrefix {
			path := filepath.Join(d.state, name)
			if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(path)
			}
		}
	}
}

// lockPath returns the path of the lock file of name.
func (d *directory) lockPath(name string) string {
	return d.path + string(filepath.Separator) + fileName(name, lockSuffix)
}
