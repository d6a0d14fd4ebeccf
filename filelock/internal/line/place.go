package line

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// A Place is a waiter's own place in line. It is used by one goroutine.
type Place struct {
	ticket
	line *Line
	bell *bell // nil until the ticket is shown
}

// A Front is the first in line who can answer.
type Front struct {
	ticket
	line *Line
}

// Ring wakes the waiter. One that was stopped shows it by not answering.
func (f *Front) Ring() { f.line.look(f.ticket, true) }

// Join takes the last place. The ticket is visible when Join returns.
func (l *Line) Join(ctx context.Context, who driver.Waiter) (*Place, error) {
	all, err := l.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p := &Place{line: l, ticket: newTicket(all, who)}
	if err := p.show(ctx); err != nil {
		p.Leave()
		return nil, err
	}
	return p, nil
}

// show makes the ticket visible. The line is made again if the last who left
// it has removed it in between.
func (p *Place) show(ctx context.Context) error {
	if p.bell != nil {
		p.bell.close()
		p.bell = nil
	}
	temp := filepath.Join(p.line.path, p.temp())
	for {
		if err := p.prepare(ctx); err != nil {
			return err
		}
		bell, err := hangBell(p.line.dir, temp, filepath.Join(p.line.path, p.file))
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
func (p *Place) prepare(ctx context.Context) error {
	for _, dir := range []string{p.line.dir.State(), p.line.path} {
		if err := p.line.dir.Mkdir(dir); err != nil {
			return err
		}
	}
	// Between the directory and the ticket: one who clears the word has found no
	// directory since it read the word. If it read the old value, the clearing
	// fails; if it read this one, the directory is gone again, the ticket cannot
	// be made, and show comes back to here.
	return p.line.crowd.Set(ctx)
}

// Ahead returns how many tickets are before this one, not counting dead ones
// at the front, and who is the first that can answer: nil if it is p's turn. It
// shows the ticket again if somebody removed it.
func (p *Place) Ahead(ctx context.Context) (int, *Front, error) {
	// Before the look: the counter's file may have been made anew without the
	// word, and nobody would ring for this ticket.
	if err := p.line.crowd.Keep(ctx); err != nil {
		return 0, nil, err
	}
	all, err := p.line.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, nil, err
	}
	front := p.line.front(all, p.file)
	own := slices.IndexFunc(all, func(t ticket) bool { return t.file == p.file })
	if own < 0 {
		return 0, nil, p.show(ctx)
	}
	if front == nil {
		return 0, nil, nil
	}
	first := slices.IndexFunc(all, func(t ticket) bool { return t.file == front.file })
	return own - first, &Front{ticket: *front, line: p.line}, nil
}

// Sleep returns at the first ring, after d, or when one of the contexts ends.
// The caller asks them which it was.
func (p *Place) Sleep(ctx, life context.Context, d time.Duration) error {
	// An interrupt may still run when the sleep is over: it must not look for
	// the bell in p, which may get another one then.
	bell := p.bell
	defer context.AfterFunc(ctx, bell.interrupt)()
	defer context.AfterFunc(life, bell.interrupt)()
	return bell.wait(d, func() bool { return ctx.Err() != nil || life.Err() != nil })
}

// Leave gives the place up. Whoever is first now is woken, to learn it.
func (p *Place) Leave() {
	// The ticket goes before the ring, which else might come here.
	_ = lockdir.Remove(filepath.Join(p.line.path, p.file))
	if p.bell != nil {
		p.bell.close()
	}
	// Refused while others wait, and then they are to be woken.
	if os.Remove(p.line.path) != nil {
		p.line.Wake()
	}
}
