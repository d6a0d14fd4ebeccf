// Package lockfile is one lock file: the three locks on it (the lock, the guard
// and the mark), and the record that it contains.
//
// The lock is that of flock(1). The guard is had for moments, by whoever changes
// the record. The mark is what the holder of a grant of process mode has besides
// the lock; unlike the lock, it can be asked for without being taken.
package lockfile

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// makeTries is how often a lock file is made that somebody keeps removing.
const makeTries = 3

// OpenOrMake opens the lock file of name in dir, and makes it if need be.
func OpenOrMake(dir *lockdir.Dir, name string) (*File, error) {
	path := dir.LockPath(name)
	f, err := Open(dir, path, true)
	// A revocation may take the file away between the two steps.
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < makeTries; tries++ {
		if err := dir.Create(path, nil); err != nil {
			return nil, err
		}
		f, err = Open(dir, path, true)
	}
	return f, err
}

// Path returns where the file was when it was opened.
func (f *File) Path() string { return f.path }

// Read returns the record, or an empty one if there is none.
func (f *File) Read() (Record, error) {
	buf := make([]byte, maxRecord)
	for try := 0; ; try++ {
		content, err := f.content(buf)
		if err != nil {
			return Record{}, err
		}
		// One who has no guard may meet a writer, and looks again. One who
		// meets a writer each time is no worse off than one who came before the
		// record.
		rec, ok := decode(content)
		if ok || try == rereads || isBlank(content) {
			return rec, nil
		}
	}
}

// Standing reads the record as the next holder needs it: one of process mode
// says nothing to them once they have the lock, and is not decoded.
func (f *File) Standing() (Record, error) {
	var buf [maxRecord]byte
	content, err := f.content(buf[:])
	if err != nil || isOfProcessMode(content) {
		return Record{}, err
	}
	// What cannot be decoded is no writer's, since the caller has the guard. It
	// was left by another program or a power cut, and holds nobody's lock.
	rec, ok := parse(content)
	switch {
	case !ok:
		return Record{}, nil
	case rec.Version != recordVersion:
		return Record{}, f.fault("use", fmt.Errorf("record of version %d, this program writes %d: use one release for all",
			rec.Version, recordVersion))
	}
	return rec, nil
}

// Write replaces the record. The caller has the guard, and has read the old
// record under it.
func (f *File) Write(rec Record) error {
	// A shorter record is padded, so that there is no moment at which it has
	// the rest of the old one behind it.
	line, err := rec.encode(int(min(f.size, maxRecord)))
	if err != nil {
		return err
	}
	return f.setContent(line)
}
