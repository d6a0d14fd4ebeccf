package filelock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// A line is the directory with the tickets of those who wait for one name. It
// is there only while somebody waits.
type line struct {
	dir   *directory
	path  string
	crowd crowd
}

// line returns the line of a lock.
func (b *backend) line(name string) *line { return b.lineAt(fileName(name, lineSuffix)) }

// lineOf returns the line of the lock file at path.
func (b *backend) lineOf(path string) *line {
	return b.lineAt(strings.TrimSuffix(filepath.Base(path), lockSuffix) + lineSuffix)
}

// lineAt returns the line that is in a directory of this name.
func (b *backend) lineAt(file string) *line {
	path := b.dir.state + string(filepath.Separator) + file
	return &line{dir: b.dir, path: path, crowd: b.counter.crowd(file)}
}

// A ticket is the place of a waiter: NUMBER,RANDOM,PID,HOST,OWNER is the name
// of its bell. Numbers rise in the order in which the waiters came, and are
// the time in microseconds unless many come at once or the clock is set back.
type ticket struct {
	file   string
	number int64
}

// liveness is what a ticket shows of its waiter.
type liveness int

const (
	alive  liveness = iota
	frozen          // has not answered for a while
	dead            // its process is gone
	gone            // the ticket is gone
)

const (
	numberLen = 16
	hostLen   = 48
	ownerLen  = 140
)

// tickets returns all tickets, the first in line first. It looks for them only
// if there may be any.
func (l *line) tickets() ([]ticket, error) {
	seen, may := l.crowd.mayWait()
	if !may {
		return nil, nil
	}
	all, err := l.read()
	if errors.Is(err, fs.ErrNotExist) {
		l.crowd.clear(seen)
		return nil, nil
	}
	return all, err
}

// read looks for tickets whatever the crowd says.
func (l *line) read() ([]ticket, error) {
	dir, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	files, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []ticket
	for _, file := range files {
		if number, err := strconv.ParseInt(file[:min(numberLen, len(file))], 16, 64); err == nil {
			all = append(all, ticket{file, number})
		} else {
			l.sweep(file)
		}
	}
	slices.SortFunc(all, func(a, b ticket) int { return cmp.Compare(a.file, b.file) })
	return all, nil
}

// sweep removes the bell of a waiter that died before its ticket was ready.
func (l *line) sweep(file string) {
	path := filepath.Join(l.path, file)
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > time.Minute && look(path, false) == dead {
		_ = remove(path)
	}
}

// front returns the first ticket whose waiter can answer, or nil. Those of
// dead ones before it are removed. It stops at the ticket own.
func (l *line) front(own *ticket) (*ticket, error) {
	all, err := l.tickets()
	if err != nil {
		return nil, err
	}
	return l.frontOf(all, own), nil
}

// frontOf is front for tickets that were read. The line is removed with its last
// dead ticket.
func (l *line) frontOf(all []ticket, own *ticket) *ticket {
	removed := 0
	for i := range all {
		if own != nil && all[i].file == own.file {
			return own
		}
		switch l.look(all[i], false) {
		case alive:
			return &all[i]
		case dead:
			_ = remove(filepath.Join(l.path, all[i].file))
			removed++
		}
	}
	if removed == len(all) && removed > 0 {
		_ = os.Remove(l.path)
	}
	return nil
}

// look says what became of the waiter with this ticket, and may ring for it.
func (l *line) look(t ticket, ring bool) liveness {
	return look(l.path+string(filepath.Separator)+t.file, ring)
}

// wake rings the first who can answer. What goes wrong is made good by the
// waiters' own looking.
func (l *line) wake() {
	all, err := l.tickets()
	if err != nil {
		return
	}
	for range 3 {
		front := l.frontOf(all, nil)
		if front == nil || l.look(*front, true) == alive {
			return
		}
	}
}

// living returns the tickets of the waiters that are not dead.
func (l *line) living() ([]ticket, error) {
	all, err := l.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(t ticket) bool { return l.look(t, false) >= dead }), err
}

// A place is a waiter's own place in line.
type place struct {
	ticket
	line *line
	bell *bell
}

// join takes the last place.
func (l *line) join(ctx context.Context, who driver.Waiter) (*place, error) {
	all, err := l.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	number := time.Now().UnixMicro()
	if len(all) > 0 {
		number = max(number, all[len(all)-1].number+1)
	}
	file := fmt.Sprintf("%0*x,%s,%d,%s,%s", numberLen, number, rand.Text()[:8], who.PID,
		shorten(escape(who.Host), hostLen), shorten(escape(who.Owner), ownerLen))
	p := &place{line: l, ticket: ticket{file, number}}
	if err := p.show(ctx); err != nil {
		p.leave()
		return nil, err
	}
	return p, nil
}

// show makes the ticket visible. The line is made again if the last who left
// it has removed it in between.
func (p *place) show(ctx context.Context) error {
	if p.bell != nil {
		p.bell.close()
		p.bell = nil
	}
	temp := filepath.Join(p.line.path, tempPrefix+p.file[:numberLen+9])
	for {
		if err := p.prepare(ctx); err != nil {
			return err
		}
		bell, err := p.line.dir.hangBell(temp, filepath.Join(p.line.path, p.file))
		if err == nil {
			p.bell = bell
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// prepare makes the line, and says so before anybody stands in it.
func (p *place) prepare(ctx context.Context) error {
	for _, dir := range []string{p.line.dir.state, p.line.path} {
		if err := p.line.dir.mkdir(dir); err != nil {
			return err
		}
	}
	return p.line.crowd.set(ctx)
}

// ahead returns how many tickets are before this one, not counting dead ones
// at the front, and who is the first that can answer: p's own ticket if it is
// p's turn. It shows the ticket again if somebody removed it.
func (p *place) ahead(ctx context.Context) (int, *ticket, error) {
	if err := p.line.crowd.keep(ctx); err != nil {
		return 0, nil, err
	}
	all, err := p.line.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, nil, err
	}
	front := p.line.frontOf(all, &p.ticket)
	own := slices.IndexFunc(all, func(t ticket) bool { return t.file == p.file })
	if own < 0 {
		return 0, &p.ticket, p.show(ctx)
	}
	first := own
	if front != nil {
		first = slices.IndexFunc(all, func(t ticket) bool { return t.file == front.file })
	}
	return own - first, front, nil
}

// leave gives the place up. Whoever is first now is woken, to learn it.
func (p *place) leave() {
	_ = remove(filepath.Join(p.line.path, p.file))
	if p.bell != nil {
		p.bell.close()
	}
	if os.Remove(p.line.path) != nil {
		p.line.wake()
	}
}

// shorten cuts an escaped text between two escapes.
func shorten(escaped string, limit int) string {
	if len(escaped) <= limit {
		return escaped
	}
	cut := escaped[:limit]
	if i := strings.LastIndexByte(cut, '%'); i >= limit-2 {
		cut = cut[:i]
	}
	return cut
}

// waiter reads what a ticket says of its waiter.
func (t ticket) waiter() driver.Waiter {
	fields := strings.Split(t.file, ",")
	w := driver.Waiter{Since: time.UnixMicro(t.number)}
	if len(fields) != 5 {
		return w
	}
	w.PID, _ = strconv.Atoi(fields[2])
	w.Host, _ = unescape(fields[3])
	w.Owner, _ = unescape(fields[4])
	w.Owner = strings.ToValidUTF8(w.Owner, "")
	return w
}
