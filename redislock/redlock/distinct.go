package redlock

import (
	"context"
	"strings"
	"time"

	"github.com/fencehold/fencehold/redislock"
)

// identifyLimit bounds how long it takes to ask the nodes who they are, and
// identifyRest how much of that the last of them get once a majority has said it.
const (
	identifyLimit = time.Second
	identifyRest  = 100 * time.Millisecond
)

// distinct refuses nodes that are the same server. One that does not say which it
// is, because it is not there or the user may not ask, is taken for another.
func (b *backend) distinct(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	type said struct {
		n  *node
		id string
	}
	answers := make(chan said, len(b.nodes))
	for _, n := range b.nodes {
		b.work.Go(func() { answers <- said{n, n.identity(ctx)} })
	}
	seen := map[string]*node{}
	var enough <-chan time.Time
	for i := range b.nodes {
		if i == b.majority {
			enough = time.After(identifyRest)
		}
		select {
		case s := <-answers:
			if first := seen[s.id]; first != nil && s.id != "" {
				return refuse("%s and %s are the same server: it would vote twice", first.name, s.n.name)
			}
			seen[s.id] = s.n
		case <-enough:
			return nil
		}
	}
	return nil
}

// identity is the random id of a server's process, empty if that is not known.
func (n *node) identity(ctx context.Context) (id string) {
	conn, err := n.conn()
	if err != nil {
		return ""
	}
	_ = conn.Primaries(ctx, func(_ string, do redislock.Do) error {
		reply, err := do(ctx, "INFO", "server")
		text, _ := reply.(string)
		for line := range strings.Lines(text) {
			if found, ok := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); ok {
				id = found
			}
		}
		return err
	})
	return id
}
