// Package notice writes the command's own messages: to one stream, one line
// each, as text or as JSON.
package notice

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// A Level says who wants to read a message.
type Level int

// The levels of a printer: what it prints includes what lower ones do.
const (
	Quiet Level = iota - 1
	Normal
	Verbose
)

// A Printer writes messages. Its zero value is not ready for use.
type Printer struct {
	out   io.Writer
	level Level
	json  bool
	queue *queue // nil to write at once
}

// New returns a printer that writes to out what belongs to level.
// Nothing is buffered: a process that is killed has said what it had to say.
func New(out io.Writer, level Level, asJSON bool) *Printer {
	return &Printer{out: out, level: level, json: asJSON}
}

// Warn says what the user must know.
func (p *Printer) Warn(format string, args ...any) { p.print(Normal, "warn", format, args) }

// Info says what the user may want to know.
func (p *Printer) Info(format string, args ...any) { p.print(Verbose, "info", format, args) }

// Error reports a failure, unless the printer is quiet.
func (p *Printer) Error(err error) { p.print(Normal, "error", "%s", []any{err}) }

// print writes a line in one call, so that lines of several processes do not mix.
func (p *Printer) print(level Level, name, format string, args []any) {
	if p.level < level {
		return
	}
	text := oneLine(fmt.Sprintf(format, args...))
	if !p.json {
		p.write([]byte("fencehold: " + text + "\n"))
		return
	}
	line, err := json.Marshal(struct {
		Time  string `json:"time"`
		Level string `json:"level"`
		Text  string `json:"msg"`
	}{time.Now().Format(time.RFC3339Nano), name, text})
	if err == nil {
		p.write(append(line, '\n'))
	}
}

// write passes a line on to whoever writes.
func (p *Printer) write(line []byte) {
	if p.queue != nil {
		p.queue.put(line)
		return
	}
	_, _ = p.out.Write(line)
}

// oneLine joins the lines of s, and takes out what would steer a terminal.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
