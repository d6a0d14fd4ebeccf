// Package line is where those wait who want a lock that is held: a directory
// with their tickets, in the order in which they came. Waiters that are dead or
// stopped hold nobody up.
package line

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/counter"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

const (
	// sweepAge is the age from which a bell without a ticket is looked at.
	sweepAge = time.Minute
	// rings is how many waiters in a row a ring is tried for, that die or are
	// stopped at that moment.
	rings = 3
)

// A Line is the directory with the tickets of those who wait for one lock. It
// is there only while somebody waits.
type Line struct {
	dir   *lockdir.Dir
	path  string
	crowd counter.Crowd
}

// Of returns the line of the lock whose file is at lockPath. Nothing is opened.
func Of(dir *lockdir.Dir, tokens *counter.Counter, lockPath string) *Line {
	path := dir.LinePath(lockPath)
	return &Line{dir: dir, path: path, crowd: tokens.Crowd(filepath.Base(path))}
}

// tickets returns all tickets, the first in line first. It looks for them only
// if there may be any.
func (l *Line) tickets() ([]ticket, error) {
	// The word is read before the look: one who comes in between changes it, and
	// is not cleared away.
	seen, may := l.crowd.MayWait()
	if !may {
		return nil, nil
	}
	all, err := l.read()
	if errors.Is(err, fs.ErrNotExist) {
		l.crowd.Clear(seen)
		return nil, nil
	}
	return all, err
}

// read looks for tickets whatever the crowd says.
func (l *Line) read() ([]ticket, error) {
	dir, err := lockdir.OpenDir(l.path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	// Tickets that come or go during the call may be found or not: who comes
	// now is behind, and who goes rings the next.
	files, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []ticket
	for _, file := range files {
		if t, ok := parseTicket(file); ok {
			all = append(all, t)
		} else {
			l.sweep(file)
		}
	}
	slices.SortFunc(all, func(a, b ticket) int { return cmp.Compare(a.file, b.file) })
	return all, nil
}

// sweep removes the bell of a waiter that died before its ticket was ready.
func (l *Line) sweep(file string) {
	path := filepath.Join(l.path, file)
	// A young one may be without a reader because it was just made.
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > sweepAge && look(path, false) == dead {
		_ = lockdir.Remove(path)
	}
}

// front returns the first ticket whose waiter can answer, or nil if there is
// none before the ticket in the file own. Those of dead ones before it are
// removed, and the line with its last one.
func (l *Line) front(all []ticket, own string) *ticket {
	removed := 0
	for i := range all {
		if all[i].file == own {
			return nil
		}
		switch l.look(all[i], false) {
		case alive:
			return &all[i]
		case dead:
			_ = lockdir.Remove(filepath.Join(l.path, all[i].file))
			removed++
		}
	}
	if removed == len(all) && removed > 0 {
		// Refused if somebody has come since; who comes after it makes the line
		// again.
		_ = os.Remove(l.path)
	}
	return nil
}

// look says what became of the waiter with this ticket, and may ring for it.
func (l *Line) look(t ticket, ring bool) liveness {
	return look(l.path+string(filepath.Separator)+t.file, ring)
}

// Waiting reports whether anybody waits who can answer.
func (l *Line) Waiting() (bool, error) {
	all, err := l.tickets()
	if err != nil {
		return false, err
	}
	return l.front(all, "") != nil, nil
}

// Wake rings the first who can answer. What goes wrong is made good by the
// waiters' own looking.
func (l *Line) Wake() {
	all, err := l.tickets()
	if err != nil {
		return
	}
	for range rings {
		// The first may die or be stopped between the look and the ring.
		front := l.front(all, "")
		if front == nil || l.look(*front, true) == alive {
			return
		}
	}
}

// Waiters returns the waiters that are not dead, the first in line first.
func (l *Line) Waiters() ([]driver.Waiter, error) {
	// Whatever the crowd says: one who looks need not have the counter open.
	all, err := l.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var waiters []driver.Waiter
	for _, t := range all {
		if l.look(t, false) < dead {
			waiters = append(waiters, t.waiter())
		}
	}
	return waiters, err
}
