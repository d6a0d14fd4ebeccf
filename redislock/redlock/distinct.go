package redlock

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/fencehold/fencehold/redislock"
)

// identifyLimit bounds how long it takes to ask the nodes who they are.
const identifyLimit = time.Second

// distinct refuses nodes that are the same server. One that does not say which it
// is, because it is not there or the user may not ask, is taken for another.
func (b *backend) distinct(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	ids := make([]string, len(b.nodes))
	var asking sync.WaitGroup
	for i, n := range b.nodes {
		asking.Go(func() { ids[i] = n.identity(ctx) })
	}
	asking.Wait()
	seen := map[string]*node{}
	for i, n := range b.nodes {
		if first := seen[ids[i]]; first != nil && ids[i] != "" {
			return refuse("%s and %s are the same server: it would vote twice", first.name, n.name)
		}
		seen[ids[i]] = n
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
