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

// inspectFile shows the lock of a file.
func (b *backend) inspectFile(ctx context.Context, path string) (driver.Holding, error) {
	f, err := b.dir.openFile(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return driver.Holding{Key: path}, nil
	}
	if err != nil {
		return driver.Holding{}, err
	}
	defer f.close()
	h := driver.Holding{Key: path, Name: b.nameOf(f)}
	waiting, err := b.lineOf(path).living()
	if err != nil {
		return driver.Holding{}, err
	}
	h.Waiting = len(waiting)
	for {
		settled, err := b.look(f, &h)
		if settled || err != nil {
			return h, err
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return driver.Holding{}, err
		}
	}
}

// look shows who has the lock of an open file now. A foreign holder is a lock
// without a claim of ours; it is settled only if there was no claim before and
// after the lock was seen, and nobody has written a record in between: else it
// may have been that of one of ours who came, or came and went.
func (b *backend) look(f *lockFile, h *driver.Holding) (settled bool, err error) {
	before, err := f.content(make([]byte, maxRecord))
	if err != nil {
		return false, err
	}
	claimed, err := f.claimed()
	if err != nil {
		return false, err
	}
	rec, held, err := b.observe(f)
	if err != nil {
		return false, err
	}
	if held {
		h.Held, h.Foreign = true, rec.Version == 0
		h.Holder, h.Token, h.Owner, h.Labels = rec.Holder, rec.Token, rec.Owner, rec.Labels
		h.Host, h.PID, h.Since, h.TTL = rec.Host, rec.PID, rec.Since, b.remaining(rec)
		return true, nil
	}
	h.Foreign, h.PID, err = f.foreign()
	if h.Held = h.Foreign; !h.Held || err != nil {
		return true, err
	}
	claimedNow, err := f.claimed()
	if claimed || claimedNow || err != nil {
		return false, err
	}
	after, err := f.content(make([]byte, maxRecord))
	return bytes.Equal(before, after), err
}

// nameOf returns the lock's name, from the record where the file's name does
// not tell it.
func (b *backend) nameOf(f *lockFile) string {
	if name, ok := lockName(filepath.Base(f.path)); ok {
		return name
	}
	rec, _ := f.read()
	return rec.Name
}
