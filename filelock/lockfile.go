package filelock

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"
)

// errBusy is the answer of a lock that somebody else has.
var errBusy = errors.New("locked by another process")

// openLock opens the lock file of name and makes it if need be.
func (d *directory) openLock(name string) (*lockFile, error) {
	path := d.lockPath(name)
	f, err := d.openFile(path, true)
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 3; tries++ {
		if err := d.create(path, nil); err != nil {
			return nil, err
		}
		f, err = d.openFile(path, true)
	}
	return f, err
}

// guard takes the guard of the file: whoever writes its record has it, for
// some microseconds.
func (f *lockFile) guard(ctx context.Context) error { return poll(ctx, f.tryGuard) }

// poll waits for a lock like this, and not in the kernel, since a wait there
// cannot be cancelled.
func poll(ctx context.Context, try func() error) error {
	pause := 20 * time.Microsecond
	for {
		err := try()
		if !errors.Is(err, errBusy) {
			return err
		}
		if err := sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
		pause = min(2*pause, 2*time.Millisecond)
	}
}

// sleep returns ctx's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read returns the record, or an empty one if there is none. One who has no
// guard may meet a writer, and looks again.
func (f *lockFile) read() (record, error) {
	buf := make([]byte, maxRecord)
	for try := 0; ; try++ {
		content, err := f.content(buf)
		if err != nil {
			return record{}, err
		}
		rec, ok := decode(content)
		if ok || try == 3 || len(bytes.TrimSpace(content)) == 0 {
			return rec, nil
		}
	}
}

// standing reads the record as the next holder needs it: one of process mode
// says nothing to them once they have the lock, and is not decoded.
func (f *lockFile) standing() (record, error) {
	var buf [maxRecord]byte
	content, err := f.content(buf[:])
	if err != nil || bytes.HasPrefix(content, []byte(processHead)) {
		return record{}, err
	}
	rec, _ := decode(content)
	return rec, nil
}

// write replaces the record. The caller has the guard, and has read the old
// record under it. A shorter record is padded, so that there is no moment at
// which it has the rest of the old one behind it.
func (f *lockFile) write(rec record) error {
	line, err := rec.encode(int(min(f.size, maxRecord)))
	if err != nil {
		return err
	}
	return f.setContent(line)
}
