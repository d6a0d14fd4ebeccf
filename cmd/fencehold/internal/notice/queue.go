package notice

import (
	"io"
	"time"
)

// queued is how many lines may wait. A run has only a few to print, so who has
// not read that many does not read.
const queued = 64

// A queue writes lines from a goroutine of its own, in their order.
type queue struct {
	lines chan item
}

// An item is a line, or a request to say that all before it is written.
type item struct {
	line    []byte
	written chan struct{}
}

// Background returns a printer like p that never waits for its stream, which
// may be a pipe that nobody reads. Lines that do not fit are dropped.
// Its goroutine lives as long as the process.
func (p *Printer) Background() *Printer {
	q := &queue{lines: make(chan item, queued)}
	go q.serve(p.out)
	b := *p
	b.queue = q
	return &b
}

// Flush waits until what was printed before is written, at most for limit, and
// reports whether it is.
func (p *Printer) Flush(limit time.Duration) bool {
	if p.queue == nil {
		return true
	}
	over := time.After(limit)
	written := make(chan struct{})
	select {
	case p.queue.lines <- item{written: written}:
	case <-over:
		return false
	}
	select {
	case <-written:
		return true
	case <-over:
		return false
	}
}

// serve writes until the process ends.
func (q *queue) serve(out io.Writer) {
	for i := range q.lines {
		if i.written != nil {
			close(i.written)
			continue
		}
		_, _ = out.Write(i.line)
	}
}

// put drops the line if the queue is full.
func (q *queue) put(line []byte) {
	select {
	case q.lines <- item{line: line}:
	default:
	}
}
