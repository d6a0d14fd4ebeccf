package filelock

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// List implements [driver.Inspector].
func (b *backend) List(ctx context.Context, prefix string) iter.Seq2[driver.Holding, error] {
	return func(yield func(driver.Holding, error) bool) {
		files, err := b.lockFiles(ctx)
		if err != nil {
			yield(driver.Holding{}, err)
			return
		}
		for _, file := range files {
			h, err := b.inspectFile(ctx, filepath.Join(b.dir.path, file))
			if err != nil {
				yield(driver.Holding{}, err)
				return
			}
			if h.Held && strings.HasPrefix(h.Name, prefix) && !yield(h, nil) {
				return
			}
		}
	}
}

// lockFiles lists the names of the lock files. What is not a plain file is no lock.
func (b *backend) lockFiles(ctx context.Context) ([]string, error) {
	if err := errors.Join(b.closed(), ctx.Err()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(b.dir.path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && strings.HasSuffix(entry.Name(), lockSuffix) {
			files = append(files, entry.Name())
		}
	}
	return files, nil
}

// Inspect implements [driver.Inspector].
func (b *backend) Inspect(ctx context.Context, name string) (driver.Holding, error) {
	if err := errors.Join(b.closed(), ctx.Err(), checkName(name)); err != nil {
		return driver.Holding{}, err
	}
	h, err := b.inspectFile(ctx, b.dir.lockPath(name))
	if err != nil {
		return driver.Holding{}, err
	}
	h.Name = name
	waiting, err := b.line(name).living()
	h.Waiting = len(waiting)
	for _, t := range waiting {
		h.Waiters = append(h.Waiters, t.waiter())
	}
	return h, err
}

// inspectFile shows the lock of a file. A lock that somebody is just taking or
// releasing has no mark for some microseconds, and looks like that of
// flock(1): it is looked at until it has looked so for a while, with a record
// that nobody has changed.
func (b *backend) inspectFile(ctx context.Context, path string) (driver.Holding, error) {
	f, err := b.dir.openFile(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return driver.Holding{Key: path}, nil
	}
	if err != nil {
		return driver.Holding{}, err
	}
	defer f.close()
	var before []byte
	same := 0
	for range maxLooks {
		h, content, err := b.look(f)
		if err != nil || !h.Foreign {
			return h, err
		}
		if !bytes.Equal(content, before) {
			before, same = content, 0
		}
		if same++; same == foreignLooks {
			return h, nil
		}
		if err := sleep(ctx, time.Duration(same)*2*time.Millisecond); err != nil {
			return driver.Holding{}, err
		}
	}
	return driver.Holding{Key: path, Name: b.nameOf(f)}, nil
}

const (
	// foreignLooks in a row, over 20 ms, make a foreign holder.
	foreignLooks = 5
	// maxLooks end the looking at a lock that changes hands all the time, and
	// so is not foreign.
	maxLooks = 50
)

// look shows the lock of an open file as it is now, and what it was read from.
func (b *backend) look(f *lockFile) (driver.Holding, []byte, error) {
	h := driver.Holding{Key: f.path, Name: b.nameOf(f)}
	content, err := f.content(make([]byte, maxRecord))
	if err != nil {
		return h, nil, err
	}
	rec, held, err := b.observe(f)
	if err != nil {
		return h, nil, err
	}
	waiting, err := b.lineOf(f.path).living()
	if err != nil {
		return h, nil, err
	}
	h.Waiting = len(waiting)
	if !held {
		h.Foreign, h.PID, err = f.foreign()
		h.Held = h.Foreign
		return h, content, err
	}
	h.Held, h.Foreign = true, rec.Version == 0
	h.Holder, h.Token, h.Owner, h.Labels = rec.Holder, rec.Token, rec.Owner, rec.Labels
	h.Host, h.PID, h.Since, h.TTL = rec.Host, rec.PID, rec.Since, b.remaining(rec)
	return h, content, nil
}

// nameOf returns the lock's name, from the record where the file's name does
// not tell it.
func (b *backend) nameOf(f *lockFile) string {
	if name, ok := lockName(filepath.Base(f.path)); ok {
		return name
	}
	rec, _, _ := f.read()
	return rec.Name
}
