package notice_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/notice"
)

// A gate takes nothing until it is opened.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	text strings.Builder
}

func (g *gate) Write(line []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(line)
}

// TestBackground: a stream that takes nothing holds nobody up, and gets what
// there was room for, in order, once it takes something.
func TestBackground(t *testing.T) {
	t.Parallel()
	g := &gate{open: make(chan struct{})}
	p := notice.New(g, notice.Normal, false).Background()
	began := time.Now()
	for i := range 10000 {
		p.Warn("line %d", i)
	}
	if p.Flush(50 * time.Millisecond) {
		t.Error("flushed through a stream that takes nothing")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	close(g.open)
	if !p.Flush(20 * time.Second) {
		t.Fatal("not flushed")
	}
	p.Warn("last")
	if !p.Flush(20 * time.Second) {
		t.Fatal("not flushed")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	text := g.text.String()
	if !strings.HasPrefix(text, "fencehold: line 0\nfencehold: line 1\nfencehold: line 2\n") ||
		!strings.HasSuffix(text, "\nfencehold: last\n") || strings.Contains(text, "line 9999") {
		t.Errorf("written: %q, want the first lines and the last", text)
	}
}

// TestFlushAtOnce: a printer that writes at once has nothing to flush.
func TestFlushAtOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := notice.New(&b, notice.Quiet, false)
	p.Warn("not wanted")
	if !p.Flush(0) || b.Len() != 0 {
		t.Errorf("flushed: %q", b.String())
	}
}
