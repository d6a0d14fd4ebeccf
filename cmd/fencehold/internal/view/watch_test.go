package view_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
)

var errFull = errors.New("full")

// limited takes a number of writes and refuses those after them.
type limited struct {
	strings.Builder
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.left == 0 {
		return 0, errFull
	}
	l.left--
	return l.Builder.Write(p)
}

// TestWatcherReportsFailedWrites: an event that could not be written ends the
// watch, whichever it is.
func TestWatcherReportsFailedWrites(t *testing.T) {
	t.Parallel()
	looks := [][]fencehold.Holding{
		{{Name: "a", Held: true, Holder: "1"}}, {{Name: "a", Held: true, Holder: "2"}}, {},
	}
	for n, event := range []string{"acquired", "changed", "released"} {
		out := &limited{left: n}
		w := &view.Watcher{Out: out, Format: view.Lines}
		for i, locks := range looks[:n+1] {
			if err := w.Show(locks, time.Now()); errors.Is(err, errFull) != (i == n) {
				t.Errorf("%s: look %d: error %v, want one: %t", event, i, err, i == n)
			}
		}
		if strings.Contains(out.String(), event) || strings.Count(out.String(), "\n") != n {
			t.Errorf("%s: %q was written, want %d lines before it", event, out.String(), n)
		}
	}
}
