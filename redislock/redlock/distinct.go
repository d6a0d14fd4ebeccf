package redlock

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/fencehold/fencehold/redislock"
)

// identifyLimit bounds how long it takes to ask the nodes who they are, and
// identifyRest how much of that the last of them get once a majority has said it.
const (
	identifyLimit = time.Second
	identifyRest  = 100 * time.Millisecond
)

// distinct refuses nodes that are the same server, or a replica. One that does not say
// which it is, because it is not there or the user may not ask, is taken for another
// that votes.
func (b *backend) distinct(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	answers := make(chan identity, len(b.nodes))
	for _, n := range b.nodes {
		b.work.Go(func() {
			conn, err := n.conn()
			if err != nil {
				answers <- identity{n: n}
				return
			}
			answers <- n.identity(ctx, conn)
		})
	}
	seen := map[string]*node{}
	var enough <-chan time.Time
	for i := range b.nodes {
		if i == b.majority {
			enough = time.After(identifyRest)
		}
		select {
		case s := <-answers:
			if err := s.refused(seen[s.id]); err != nil {
				return err
			}
			seen[s.id] = s.n
		case <-enough:
			return nil
		}
	}
	return nil
}

// identity is what a node says of itself.
type identity struct {
	n       *node
	id      string // random, of the server's process; empty if that is not known
	replica bool
}

// refused says why a server cannot be a node beside the first with the same id.
func (i identity) refused(first *node) error {
	switch {
	case i.replica:
		return refuse("%s is a replica, and read-only: a node is a server of its own", i.n.name)
	case first != nil && i.id != "":
		return refuse("%s and %s are the same server: it would vote twice", first.name, i.n.name)
	}
	return nil
}

// admit connects a node that was not there when the others were compared, unless it is
// one of them. One is admitted after the other: two may be the same.
func (b *backend) admit(n *node, conn redislock.Conn) error {
	b.sameMu.Lock()
	defer b.sameMu.Unlock()
	ctx, cancel := context.WithTimeout(b.life, identifyLimit)
	defer cancel()
	who := n.identity(ctx, conn)
	err := who.refused(nil)
	var asking sync.WaitGroup
	same := make(chan error, len(b.nodes))
	for _, other := range b.nodes {
		if its, failed := other.conn(); failed == nil && other != n {
			asking.Go(func() {
				if known := other.identity(ctx, its); known.id == who.id {
					same <- who.refused(other)
				}
			})
		}
	}
	asking.Wait()
	close(same)
	for found := range same {
		err = errors.Join(err, found)
	}
	if err == nil {
		n.connected(conn)
	}
	return err
}

// identity asks a node who it is.
func (n *node) identity(ctx context.Context, conn redislock.Conn) identity {
	known := identity{n: n}
	asked := false
	err := conn.Primaries(ctx, func(_ string, do redislock.Do) error {
		asked = true
		reply, err := do(ctx, "INFO", "server")
		text, _ := reply.(string)
		for line := range strings.Lines(text) {
			if found, ok := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); ok {
				known.id = found
			}
		}
		return err
	})
	known.replica = err == nil && !asked
	return known
}
