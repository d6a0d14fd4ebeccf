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
// by a URL each, such as redis://host:6379. What such URLs say of the set must be the
// same in all: the prefix, max_ttl, drift and node_timeout. It returns once a majority
// has answered, and goes on connecting to the others. ctx bounds the connecting alone.
func Open(ctx context.Context, urls ...string) (driver.Backend, error) {
	nodes, opts, err := read(urls)
	if err != nil {
		return nil, err
	}
	return openNodes(ctx, nodes, opts)
}

// Diagnose examines the servers of a set, named as for [Open], as far as they can be
// reached: also where they are too few for Open, which is an error then beside what was
// found.
func Diagnose(ctx context.Context, urls ...string) ([]driver.Finding, error) {
	nodes, opts, err := read(urls)
	if err != nil {
		return nil, err
	}
	b, err := prepare(nodes, opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }()
	if err := awaitMost(ctx, len(nodes), b.dialAll(nodes)); err != nil {
		return nil, err
	}
	return b.Diagnose(ctx)
}

// read reads the URLs of a set.
func read(urls []string) ([]redisurl.URL, Options, error) {
	if len(urls) == 1 && namesSet(urls[0]) {
		return readSet(urls[0])
	}
	nodes := make([]redisurl.URL, len(urls))
	for i, raw := range urls {
		u, err := redisurl.ParseMember(raw)
		if err != nil {
			return nil, Options{}, fmt.Errorf("%w: URL %d: %w", fencehold.ErrInvalid, i+1, err)
		}
		if u.Mode != redisurl.Single {
			return nil, Options{}, refuse("URL %d: a node is one server, without Sentinel and without Cluster", i+1)
		}
		nodes[i] = *u
		if option := u.Unlike(nodes[0]); option != "" {
			return nil, Options{}, refuse("URL %d: has another %s than the first: it is that of the set", i+1, option)
		}
	}
	if err := checkNodes(len(nodes)); err != nil {
		return nil, Options{}, err
	}
	return nodes, optionsOf(nodes[0], urlOf(nodes)), nil
}

// optionsOf are the options of a set that a URL has; shown is what Info shows.
func optionsOf(u redisurl.URL, shown string) Options {
	return Options{
		Prefix: u.Prefix, NoPrefix: u.Prefix == "", MaxTTL: u.MaxTTL, Drift: u.Drift, NodeTimeout: u.NodeTimeout,
		url: shown,
	}
}

// lateNodes is how long Open waits for the rest once it is clear how it ends.
const lateNodes = 300 * time.Millisecond

// openNodes connects to the nodes of a set.
func openNodes(ctx context.Context, urls []redisurl.URL, opts Options) (driver.Backend, error) {
	b, err := prepare(urls, opts)
	if err != nil {
		return nil, err
	}
	err = awaitMost(ctx, len(urls), b.dialAll(urls))
	if err == nil {
		err = b.unconnected()
	}
	b.complete.Store(true) // who connects from now on is compared by itself
	if err == nil {
		err = b.distinct(ctx)
	}
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	b.learn(ctx)
	return b, nil
}

// prepare returns a backend on nodes that are not connected.
func prepare(urls []redisurl.URL, opts Options) (*backend, error) {
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
	return newBackend(nodes, complete), nil
}

// learn finds out the longest TTL of the set if this client takes that. It is not known
// of a set that is not founded yet.
func (b *backend) learn(ctx context.Context) {
	if !b.opts.anyTTL {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	c := b.members.takeUntil(ctx, census.settled)
	marker, _ := c.common()
	if c.settled() && b.members.verdict(c, b.members.claim()) == nil {
		b.members.known.Store(&marker)
		b.info.MaxTTL = parseTitle(marker).maxTTL
	}
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
	e := &nodesError{of: len(b.nodes)}
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
	e.verb = verb(e.agreed, "answers", "answer")
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
	conn := owned{Conn: redislock.NewRueidisConn(client), close: client.Close}
	if !b.complete.Load() {
		n.connected(conn)
		return nil
	}
	if err := b.admit(n, conn); err != nil {
		client.Close()
		n.unreached(err)
		return err
	}
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
