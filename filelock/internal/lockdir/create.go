package lockdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// TempPrefix begins the names of files that are not ready yet.
	TempPrefix = ".new-"
	// tempAge is the age from which nobody is working on such a file any more.
	tempAge = time.Hour
)

// Mkdir makes a directory below d unless there is one. Where others may use it
// it has d's permission bits, whatever the umask, from the moment it is seen.
func (d *Dir) Mkdir(path string) error {
	if d.dirMode&0o022 == 0 && !d.owner.other {
		return ignoreExist(os.Mkdir(path, d.dirMode))
	}
	// Most often it is there. If not, two may make it at once: Rename replaces
	// the other's while that is empty, which nobody can tell, and is refused
	// with an ErrExist once it is not.
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return err
	}
	// Mkdir is subject to the umask and Chmod is not; between the two the
	// directory must not be found by one whom it would refuse.
	err = d.owner.give(temp)
	if err == nil {
		err = os.Chmod(temp, d.dirMode)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(ignoreExist(err), os.Remove(temp))
	}
	return nil
}

// Create makes a file of this content unless there is one. Nobody ever sees it
// half written, or with permissions that the umask cut. Content that is not nil
// lasts: it is on the disk, under its name, before Create returns.
func (d *Dir) Create(path string, content []byte) error {
	temp, err := os.CreateTemp(d.state, TempPrefix+"*")
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.Mkdir(d.state); err != nil {
			return err
		}
		d.sweep()
		temp, err = os.CreateTemp(d.state, TempPrefix+"*")
	}
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	err = d.fill(temp, content)
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	// Unlike Rename, Link fails if somebody was quicker: their file may be
	// locked by now, and must keep its path.
	if err := ignoreExist(os.Link(temp.Name(), path)); err != nil {
		return err
	}
	if content == nil {
		return nil
	}
	return syncDir(filepath.Dir(path))
}

// fill gives a file its permissions, and its content if that has to last.
func (d *Dir) fill(temp *os.File, content []byte) error {
	if err := d.Finish(temp.Name()); err != nil {
		return err
	}
	if content == nil {
		return nil
	}
	if _, err := temp.Write(content); err != nil {
		return err
	}
	// Before the link: after a power cut a name must not lead to an empty file.
	return temp.Sync()
}

// sweep removes what processes left behind that were killed inside Create.
func (d *Dir) sweep() {
	entries, err := os.ReadDir(d.state)
	if err != nil {
		return
	}
	for _, entry := range entries {
		name := entry.Name()
		if len(name) == len(TempPrefix) || !strings.HasPrefix(name, TempPrefix) {
			continue
		}
		path := filepath.Join(d.state, name)
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > tempAge {
			_ = os.Remove(path)
		}
	}
}

// Remove takes a file away that somebody else may have taken away before.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
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
