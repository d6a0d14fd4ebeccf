package filelock

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// List implements [driver.Inspector].
func (b *backend) List(ctx context.Context, prefix string) iter.Seq2[driver.Holding, error] {
	return func(yield func(driver.Holding, error) bool) {
		files, err := b.lockFiles(ctx)
		if err != nil {
			yield(driver.Holding{}, err)
			return
		}
		var failed error
		for _, file := range files {
			h, err := b.inspectFile(ctx, filepath.Join(b.dir.Path(), file))
			if err != nil {
				failed = cmp.Or(failed, err)
				continue
			}
			h.Waiters = nil
			if h.Held && strings.HasPrefix(h.Name, prefix) && !yield(h, nil) {
				return
			}
		}
		// Last, so that one file that cannot be read hides no others.
		if failed != nil {
			yield(driver.Holding{}, failed)
		}
	}
}

// lockFiles lists the names of the lock files. What is not a plain file is no lock.
func (b *backend) lockFiles(ctx context.Context) ([]string, error) {
	if err := errors.Join(b.closed(), ctx.Err()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(b.dir.Path())
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && strings.HasSuffix(entry.Name(), lockdir.LockSuffix) {
			files = append(files, entry.Name())
		}
	}
	return files, nil
}

// Inspect implements [driver.Inspector].
func (b *backend) Inspect(ctx context.Context, name string) (driver.Holding, error) {
	if err := errors.Join(b.closed(), ctx.Err(), lockdir.CheckName(name)); err != nil {
		return driver.Holding{}, err
	}
	h, err := b.inspectFile(ctx, b.dir.LockPath(name))
	if err != nil {
		return driver.Holding{}, err
	}
	h.Name = name
	return h, nil
}

// inspectFile shows the lock of a file.
func (b *backend) inspectFile(ctx context.Context, path string) (driver.Holding, error) {
	f, err := lockfile.Open(b.dir, path, false)
	if errors.Is(err, fs.ErrNotExist) {
		waiters, err := b.lineOf(path).Waiters()
		return driver.Holding{Key: path, Waiting: len(waiters), Waiters: waiters}, err
	}
	if err != nil {
		return driver.Holding{}, err
	}
	defer f.Close()
	name := nameOf(f)
	waiters, err := b.lineOf(path).Waiters()
	if err != nil {
		return driver.Holding{}, err
	}
	sight, err := f.Look(ctx, b.boot)
	if err != nil {
		return driver.Holding{}, err
	}
	h := b.holding(sight)
	h.Key, h.Name, h.Waiting, h.Waiters = path, name, len(waiters), waiters
	return h, nil
}

// holding is what a sight shows of the holder.
func (b *backend) holding(sight lockfile.Sight) driver.Holding {
	h := driver.Holding{Held: sight.Held, Foreign: sight.Foreign, PID: sight.PID}
	// The record under a foreign lock is an earlier holder's.
	if rec := sight.Record; sight.Held && !sight.Foreign {
		h.Kept = rec.Kept
		h.Holder, h.Token, h.Owner, h.Labels = rec.Holder, rec.Token, rec.Owner, rec.Labels
		h.Host, h.PID, h.Since, h.TTL = rec.Host, rec.PID, rec.Since, b.remaining(rec)
	}
	return h
}

// nameOf returns the lock's name, from the record where the file's name does
// not tell it.
func nameOf(f *lockfile.File) string {
	if name, ok := lockdir.LockName(filepath.Base(f.Path())); ok {
		return name
	}
	rec, _ := f.Read()
	return rec.Name
}
