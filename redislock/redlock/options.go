package redlock

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
)

// The defaults of [Options].
const (
	DefaultPrefix = redislock.DefaultPrefix
	DefaultMaxTTL = time.Minute
	DefaultDrift  = 0.01
)

// Options say how locks are kept. The zero value has the defaults. All clients of a
// set need the same prefix, and no longer MaxTTL than the one that founded it.
type Options struct {
	// Prefix begins all keys and channels, by default [DefaultPrefix]. It has
	// at most 128 bytes of UTF-8 without control characters.
	Prefix string
	// NoPrefix asks for keys without a prefix, for use with other libraries.
	NoPrefix bool
	// MaxTTL is the longest TTL of any lock: a node that has lost its memory does not
	// vote for so long. By default it is that of the set, which is [DefaultMaxTTL] if
	// this client founds it.
	MaxTTL time.Duration
	// Drift is how much faster one clock may run than another, 0.01 to 0.5, by
	// default [DefaultDrift]: that part of each TTL is not used.
	Drift float64
	// NodeTimeout is how long to wait for one node, by default a tenth of the TTL,
	// between 20 milliseconds and 1 second.
	NodeTimeout time.Duration

	// Names are what errors and findings call the servers, in their order; by default
	// their addresses, as far as the clients tell. [Open] does not look at them.
	Names []string

	url    string // what Info shows
	anyTTL bool   // MaxTTL was not given
}

// Bounds of the options; maxPrefix in bytes.
const (
	maxPrefix = 128
	maxDrift  = 0.5
)

// complete checks the options and fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Prefix == "" && !o.NoPrefix {
		o.Prefix = DefaultPrefix
	} else if o.Prefix != "" && o.NoPrefix {
		return o, refuse("prefix %q: given together with NoPrefix", o.Prefix)
	}
	if o.MaxTTL == 0 {
		o.MaxTTL, o.anyTTL = DefaultMaxTTL, true
	}
	if o.Drift == 0 {
		o.Drift = DefaultDrift
	}
	switch {
	case o.MaxTTL < minTTL || o.MaxTTL%time.Millisecond != 0:
		return o, refuse("max_ttl %v: want whole milliseconds, %v at least", o.MaxTTL, minTTL)
	case !(o.Drift >= DefaultDrift) || o.Drift > maxDrift:
		return o, refuse("drift %v: want %v to %v", o.Drift, DefaultDrift, maxDrift)
	case o.NodeTimeout < 0 || o.NodeTimeout > 0 && o.NodeTimeout < time.Millisecond:
		return o, refuse("node_timeout %v: want 1ms at least, or 0 for the default", o.NodeTimeout)
	}
	return o, checkPrefix(o.Prefix)
}

func checkPrefix(prefix string) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch {
	case len(prefix) > maxPrefix:
		return refuse("prefix of %d bytes: at most %d", len(prefix), maxPrefix)
	case !utf8.ValidString(prefix) || strings.ContainsFunc(prefix, control):
		return refuse("prefix %q: must be UTF-8 without control characters", prefix)
	}
	return nil
}

// The sizes of a set. With fewer nodes than minNodes the loss of any one ends it, and
// more than maxNodes do not fit into what is remembered of a lock.
const (
	minNodes = 3
	maxNodes = 63
)

func checkNodes(n int) error {
	switch {
	case n < minNodes:
		return refuse("%d servers: a Redlock set has %d at least, or the loss of one ends it", n, minNodes)
	case n%2 == 0:
		return refuse("%d servers: want an odd number, an even one can lose no more of them than one less", n)
	case n > maxNodes:
		return refuse("%d servers: a Redlock set has %d at most", n, maxNodes)
	}
	return nil
}

// New returns a backend on clients of the caller, one for each server; they stay
// the caller's. nil stands for default options. It does no I/O. The clients should
// have their retries disabled (DisableRetry), and be on one connection each
// (PipelineMultiplex -1): what is sent later must not be executed sooner.
func New(clients []rueidis.Client, opts *Options) (driver.Backend, error) {
	conns, names := make([]redislock.Conn, len(clients)), make([]string, len(clients))
	for i, client := range clients {
		if client == nil {
			return nil, refuse("client %d is nil", i)
		}
		conns[i] = redislock.NewRueidisConn(client)
		for addr := range client.Nodes() {
			names[i] = addr
		}
	}
	return newSet(conns, names, opts)
}

// NewConns returns a backend on clients of any library, one for each server, such as
// those that [goredislock.NewConn] makes; closing the backend closes them. Errors call a
// server by Options.Names, else by the method Addr of its Conn, if it has one. nil stands
// for default options. It does no I/O.
//
// [goredislock.NewConn]: https://pkg.go.dev/github.com/fencehold/fencehold/redislock/goredislock#NewConn
func NewConns(conns []redislock.Conn, opts *Options) (driver.Backend, error) {
	names := make([]string, len(conns))
	for i, conn := range conns {
		names[i] = fmt.Sprintf("server %d", i+1)
		if addressed, ok := conn.(interface{ Addr() string }); ok {
			names[i] = addressed.Addr()
		}
	}
	return newSet(conns, names, opts)
}

// newSet returns a backend on clients; names are what errors call them.
func newSet(conns []redislock.Conn, names []string, opts *Options) (driver.Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	complete, err := opts.complete()
	if err == nil {
		err = checkNodes(len(conns))
	}
	if err == nil && len(opts.Names) != 0 && len(opts.Names) != len(conns) {
		err = refuse("%d names for %d servers", len(opts.Names), len(conns))
	}
	if err != nil {
		return nil, err
	}
	if len(opts.Names) != 0 {
		names = opts.Names
	}
	nodes := make([]*node, len(conns))
	for i, conn := range conns {
		switch {
		case conn == nil:
			return nil, refuse("client %d is nil", i)
		case conn.Mode() != redislock.Single:
			return nil, refuse("client %d: a node is one server, without Sentinel and without Cluster", i)
		}
		nodes[i] = newNode(i, names[i])
		nodes[i].connected(conn)
	}
	return newBackend(nodes, complete), nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fencehold.ErrInvalid}, args...)...)
}
