package testcluster

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// refusal is an error that a server answered with, word by word.
type refusal string

// Error returns what the server said.
func (e refusal) Error() string { return string(e) }

// conn is a connection to a server that speaks RESP2.
type conn struct {
	net.Conn
	in *bufio.Reader
}

// dial connects and authenticates. Everything on the connection has to be over
// within limit.
func (r *Redis) dial(limit time.Duration) (*conn, error) {
	nc, err := (&net.Dialer{Timeout: limit}).Dial("tcp", r.Addr())
	if err != nil {
		return nil, err
	}
	if err := nc.SetDeadline(time.Now().Add(limit)); err != nil {
		_ = nc.Close()
		return nil, err
	}
	if r.set.tls {
		nc = tls.Client(nc, &tls.Config{RootCAs: authority().pool, ServerName: "127.0.0.1"})
	}
	c := &conn{Conn: nc, in: bufio.NewReader(nc)}
	if r.set.password == "" {
		return c, nil
	}
	if _, err := c.do("AUTH", r.set.password); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// do sends one command and returns the answer.
func (c *conn) do(args ...string) (string, error) {
	if _, err := io.WriteString(c, request(args)); err != nil {
		return "", err
	}
	return readReply(c.in)
}

// request returns a command as it is sent.
func request(args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

// readReply reads one answer as text: elements of arrays are lines, what is
// null is empty. The text of an error is returned as a [refusal].
func readReply(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", fmt.Errorf("answer %q has no type", line)
	}
	switch kind, text := line[0], line[1:]; kind {
	case '+', ':':
		return text, nil
	case '-':
		return "", refusal(text)
	case '$':
		return readBulk(in, text)
	case '*':
		return readArray(in, text)
	default:
		return "", fmt.Errorf("answer of unknown type %q", kind)
	}
}

// readBulk reads the rest of a string of size bytes.
func readBulk(in *bufio.Reader, size string) (string, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return "", err
	}
	b := make([]byte, n+len("\r\n"))
	_, err = io.ReadFull(in, b)
	return string(b[:n]), err
}

// readArray reads the elements of an array. An error among them is a line.
func readArray(in *bufio.Reader, count string) (string, error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return "", err
	}
	lines := make([]string, n)
	for i := range lines {
		lines[i], err = readReply(in)
		if e, ok := err.(refusal); ok { //nolint:errorlint // readReply does not wrap
			lines[i] = string(e)
		} else if err != nil {
			return "", err
		}
	}
	return strings.Join(lines, "\n"), nil
}
