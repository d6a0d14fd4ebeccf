package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/dial"
	"github.com/fencehold/fencehold/redislock/internal/redisurl"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// Open connects to the set that one redlock:// URL names, or to servers that are named
// by a URL each, such as redis://host:6379, with the default options but for the
// prefix of the URLs, which must be the same. It returns once a majority has answered,
// and goes on connecting to the others. ctx bounds the connecting alone.
func Open(ctx context.Context, urls ...string) (driver.Backend, error) {
	if len(urls) == 1 && namesSet(urls[0]) {
		return openURL(ctx, urls[0])
	}
	nodes := make([]redisurl.URL, len(urls))
	for i, raw := range urls {
		u, err := redisurl.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: URL %d: %w", fencehold.ErrInvalid, i+1, err)
		}
		if u.Mode != redisurl.Single {
			return nil, refuse("URL %d: a node is one server, without Sentinel and without Cluster", i+1)
		}
		if u.Prefix != nodes[0].Prefix && i > 0 {
			return nil, refuse("URL %d: has another prefix than the first", i+1)
		}
		nodes[i] = *u
	}
	if err := checkNodes(len(nodes)); err != nil {
		return nil, err
	}
	return openNodes(ctx, nodes, Options{
		Prefix: nodes[0].Prefix, NoPrefix: nodes[0].Prefix == "", url: urlOf(nodes),
	})
}

// lateNodes is how long Open waits for the rest once it is clear how it ends.
const lateNodes = 300 * time.Millisecond

// openNodes connects to the nodes of a set.
func openNodes(ctx context.Context, urls []redisurl.URL, opts Options) (driver.Backend, error) {
	complete, err := opts.complete()
	if err == nil {
		err = checkNodes(len(urls))
	}
	if err != nil {
		return nil, err
	}
	nodes := make([]*node, len(urls))
	for i, u := range urls {
		nodes[i] = newNode(i, u.Addrs[0])
	}
	b := newBackend(nodes, complete)
	tried := b.dialAll(urls)
	err = awaitMost(ctx, len(nodes), tried)
	if err == nil {
		err = b.unconnected()
	}
	if err == nil {
		err = b.distinct(ctx)
	}
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// dialAll begins to connect to all nodes, which goes on until each is connected. The
// channel has the outcome of each first attempt.
func (b *backend) dialAll(urls []redisurl.URL) <-chan error {
	tried := make(chan error, len(b.nodes))
	for i, n := range b.nodes {
		b.work.Go(func() {
			err := b.dial(b.life, n, urls[i])
			tried <- err
			if err != nil {
				b.redial(n, urls[i])
			}
		})
	}
	return tried
}

// awaitMost returns once it is clear of n nodes whether a majority can be connected to,
// and the others have told or have had a moment.
func awaitMost(ctx context.Context, n int, tried <-chan error) error {
	var enough <-chan time.Time
	connected, failed := 0, 0
	for range n {
		select {
		case err := <-tried:
			if err == nil {
				connected++
			} else {
				failed++
			}
		case <-enough:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		if enough == nil && (connected >= quorum.Majority(n) || failed > n-quorum.Majority(n)) {
			enough = time.After(lateNodes)
		}
	}
	return nil
}

// unconnected says what each node said, nil if a majority is connected.
func (b *backend) unconnected() error {
	e := &nodesError{of: len(b.nodes), verb: "answer"}
	for _, n := range b.nodes {
		if _, err := n.conn(); err != nil {
			e.add(n, err)
		} else {
			e.agreed++
		}
	}
	if e.agreed >= b.majority {
		return nil
	}
	return e
}

// The pause between two attempts to connect doubles up to maxRedial.
const (
	minRedial = 20 * time.Millisecond
	maxRedial = 2 * time.Second
)

// redial connects to a node, however long that takes.
func (b *backend) redial(n *node, u redisurl.URL) {
	for pause := minRedial; b.life.Err() == nil; pause = min(2*pause, maxRedial) {
		select {
		case <-time.After(pause + rand.N(pause)):
			if b.dial(b.life, n, u) == nil {
				return
			}
		case <-b.life.Done():
		}
	}
}

// dial makes one attempt to connect.
func (b *backend) dial(ctx context.Context, n *node, u redisurl.URL) error {
	ctx, cancel := context.WithTimeout(ctx, u.DialTimeout)
	defer cancel()
	client, err := dial.Client(ctx, &u)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in %v", u.DialTimeout)
	}
	if err != nil {
		n.unreached(err)
		return err
	}
	n.connected(owned{Conn: redislock.NewRueidisConn(client), close: client.Close})
	return nil
}

// owned is a Conn that is closed with the backend.
type owned struct {
	redislock.Conn
	close func()
}

// Close implements [redislock.Conn].
func (o owned) Close() error {
	o.close()
	return nil
}
