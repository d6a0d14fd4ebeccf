package testcluster

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
)

// pieceSize is the largest piece of a protocol that is not parsed, in bytes.
const pieceSize = 32 << 10

// reader divides a stream into what passes a proxy at once.
type reader struct {
	in      *bufio.Reader
	started bool
	raw     bool // this is not the protocol of Redis
}

// newReader returns a reader of what one side sends.
func newReader(c net.Conn) *reader { return &reader{in: bufio.NewReaderSize(c, pieceSize)} }

// piece returns what has come.
func (r *reader) piece() ([]byte, error) {
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	b := make([]byte, r.in.Buffered())
	return b, r.fill(b)
}

// fill reads b fully.
func (r *reader) fill(b []byte) error {
	_, err := io.ReadFull(r.in, b)
	return err
}

// request returns one request of the protocol of Redis. If the first byte of
// the connection begins none, or later bytes break the protocol, it returns
// what has come from then on.
func (r *reader) request() ([]byte, error) {
	first, err := r.in.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] != '*' {
		r.raw = r.raw || !r.started
	}
	r.started = true
	if r.raw || first[0] != '*' {
		return r.piece()
	}
	return r.command()
}

// command reads an array of strings. What was read of a broken one is returned
// as it is.
func (r *reader) command() ([]byte, error) {
	all, n, err := r.count(nil)
	for i := 0; i < n && err == nil; i++ {
		var size int
		all, size, err = r.count(all)
		if err != nil || size < 0 {
			break
		}
		part := make([]byte, size+len("\r\n"))
		err = r.fill(part)
		all = append(all, part...)
	}
	return all, err
}

// count reads a line that is a type and a number, and appends it to all. A line
// that is not, makes the rest of the stream raw.
func (r *reader) count(all []byte) ([]byte, int, error) {
	line, err := r.in.ReadBytes('\n')
	all = append(all, line...)
	if err != nil {
		return all, 0, err
	}
	n, parseErr := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if parseErr != nil {
		r.raw = true
		return all, -1, nil
	}
	return all, n, nil
}
