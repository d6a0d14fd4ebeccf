package view

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"golang.org/x/term"
)

// A Watcher shows locks again and again.
type Watcher struct {
	// Out is where to, Format is how. Lines are events, not locks.
	Out    io.Writer
	Format Format

	seen map[string]fencehold.Holding
}

// event is one change as JSON.
type event struct {
	Schema int    `json:"schema_version"`
	Time   string `json:"time"`
	Event  string `json:"event"`
	Lock   Lock   `json:"lock"`
}

// Show draws the locks, or tells what has changed since the last time.
func (w *Watcher) Show(locks []fencehold.Holding, now time.Time) error {
	if w.Format == Lines {
		return w.events(locks, now)
	}
	var b strings.Builder
	f, ok := w.Out.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) {
		const clear = "\x1b[H\x1b[2J"
		b.WriteString(clear)
	}
	if err := Print(&b, w.Format, locks, now); err != nil {
		return err
	}
	_, err := io.WriteString(w.Out, b.String())
	return err
}

// events prints what has changed since the last look. What could not be told
// counts as not seen.
func (w *Watcher) events(locks []fencehold.Holding, now time.Time) error {
	current := map[string]fencehold.Holding{}
	for _, h := range locks {
		current[h.Name] = h
		if what := w.change(h); what != "" {
			if err := w.print(what, h, now); err != nil {
				return err
			}
		}
	}
	for name, h := range w.seen {
		if _, still := current[name]; still {
			continue
		}
		// It is shown as it was seen last, which may be some time ago.
		h.Held = false
		if err := w.print("released", h, now); err != nil {
			return err
		}
	}
	w.seen = current
	return nil
}

// change names what has happened to a lock that is held, empty for nothing.
func (w *Watcher) change(h fencehold.Holding) string {
	before, known := w.seen[h.Name]
	switch {
	case !known:
		return "acquired"
	case before.Holder != h.Holder || before.Token != h.Token:
		return "changed"
	}
	return ""
}

// print writes one event.
func (w *Watcher) print(what string, h fencehold.Holding, now time.Time) error {
	return WriteLine(w.Out, event{SchemaVersion, now.Format(time.RFC3339Nano), what, NewLock(h)})
}
