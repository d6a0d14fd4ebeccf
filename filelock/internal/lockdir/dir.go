// Package lockdir is the directory that the locks are in: which directory may
// hold them, what its files are named, and how something is made in it.
package lockdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fencehold/fencehold"
)

// stateDir holds everything but the lock files. No lock file begins with a
// dot, so none can have its name.
const stateDir = ".fencehold"

// dirBits are what a directory hands on to those made in it.
const dirBits = fs.ModePerm | fs.ModeSetgid | fs.ModeSticky

// A Dir is where the locks are kept. What is made in it follows its permission
// bits: where a group may write in it, the group may use the locks.
type Dir struct {
	path     string
	state    string
	fileMode fs.FileMode
	dirMode  fs.FileMode
	owner    owner
}

// Open makes sure that path, an absolute one, or the default directory if it is
// empty, can keep locks. What is missing is made: the last element of path, or
// all of the default.
func Open(path string) (*Dir, error) {
	var err error
	if path == "" {
		path, err = makeDefault()
	} else {
		err = makeLast(path)
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
	// A network file system turns flock into byte-range locks, which would
	// meet those of guard and mark; and a boot id means nothing on another
	// machine.
	if err := refuseNetwork(path); err != nil {
		return nil, err
	}
	d := newDir(path, info.Mode())
	d.owner = ownerOf(info)
	return d, d.checkState()
}

// newDir describes a directory that has these permission bits.
func newDir(path string, mode fs.FileMode) *Dir {
	d := &Dir{
		path:     path,
		state:    filepath.Join(path, stateDir),
		fileMode: fileMode(mode),
		dirMode:  mode & dirBits,
	}
	if runtime.GOOS == "windows" {
		// Access lists are handed on by the system.
		d.dirMode, d.fileMode = 0o700, 0o600
	}
	return d
}

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

// State returns the path of the directory inside that has everything but the
// lock files. It is made when something is made in it.
func (d *Dir) State() string { return d.state }

// FileMode returns the permission bits that files in the directory have.
func (d *Dir) FileMode() fs.FileMode { return d.fileMode }

// Finish gives a new file, or named pipe, the permissions and the owner that
// the directory wants, before it is seen.
func (d *Dir) Finish(path string) error {
	// Owner first: chown takes bits away.
	if err := d.owner.give(path); err != nil {
		return err
	}
	return os.Chmod(path, d.fileMode)
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

// makeLast makes a directory whose parent exists: a path with a slip in it is
// more often an error than a wish.
func makeLast(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%w: lock directory %q: must be an absolute path", fencehold.ErrInvalid, path)
	}
	return ignoreExist(os.Mkdir(path, 0o700))
}

// checkState refuses a state directory that leads out of the directory.
func (d *Dir) checkState() error {
	// Stat would follow the link that is to be found.
	info, err := os.Lstat(d.state)
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "use", Path: d.state, Err: errors.New("not a directory")}
	}
	return nil
}
