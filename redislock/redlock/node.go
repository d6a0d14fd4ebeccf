package redlock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// A node is one server of the set.
type node struct {
	index int
	name  string // its address
	link  atomic.Pointer[link]
	seat  *seat
	ear   *ear
	owes  owes

	mu     sync.Mutex
	closed bool
}

// link is the connection of a node, or why there is none.
type link struct {
	conn redislock.Conn
	err  error
}

// errConnecting is the error of a node whose first connection is being made.
var errConnecting = errors.New("not connected yet")

func newNode(index int, name string) *node {
	n := &node{index: index, name: name}
	n.link.Store(&link{err: errConnecting})
	n.seat = &seat{index: index, name: name, conn: func(context.Context) (redislock.Conn, error) { return n.conn() }}
	return n
}

// conn returns the connection, or why there is none yet.
func (n *node) conn() (redislock.Conn, error) {
	l := n.link.Load()
	return l.conn, l.err
}

// connected takes a connection in.
func (n *node) connected(conn redislock.Conn) { n.link.Store(&link{conn: conn}) }

// unreached takes note of why there is no connection.
func (n *node) unreached(err error) { n.link.Store(&link{err: err}) }

// close closes the connection, once.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if conn, err := n.conn(); err == nil && !n.closed {
		n.closed = true
		_ = conn.Close()
	}
}

// eval runs a script at the node.
func (n *node) eval(ctx context.Context, call redislock.Call) (answer, error) {
	conn, err := n.conn()
	if err != nil {
		return answer{}, err
	}
	text, err := conn.Eval(ctx, call)
	if err != nil {
		return answer{}, refusal.Explain(ofLimit(err))
	}
	return parseAnswer(text)
}
