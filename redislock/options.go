package redislock

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// DefaultPrefix begins all keys and channels unless [Options] say otherwise.
const DefaultPrefix = "lock:"

// Options say how locks are kept. The zero value has the defaults.
type Options struct {
	// Prefix begins all keys and channels, by default [DefaultPrefix]. It has
	// at most 128 bytes of UTF-8 without control characters. Braces in it must
	// be one whole tag, such as {app}, which then decides the slot.
	Prefix string
	// NoPrefix asks for keys without a prefix, for use with other libraries.
	NoPrefix bool
	// MinReplicas is how many replicas have to confirm each grant and each
	// renewal, 0 to 16; a grant that they have not confirmed in time is undone,
	// and such a renewal does not count. By default none: a failover can lose a
	// grant.
	MinReplicas int
	// ReplicaTimeout is how long to wait for them, by default 1 second.
	ReplicaTimeout time.Duration

	url string // what Info shows
}

// maxReplicas bounds MinReplicas, and maxPrefix the prefix in bytes.
const (
	maxReplicas = 16
	maxPrefix   = 128
)

// complete checks the options and fills in the defaults.
func (o Options) complete() (Options, error) {
	switch {
	case o.NoPrefix && o.Prefix != "":
		return o, refuse("prefix %q: given together with NoPrefix", o.Prefix)
	case o.Prefix == "" && !o.NoPrefix:
		o.Prefix = DefaultPrefix
	}
	if o.ReplicaTimeout == 0 {
		o.ReplicaTimeout = time.Second
	}
	switch {
	case o.MinReplicas < 0 || o.MinReplicas > maxReplicas:
		return o, refuse("minimum of %d replicas: want 0 to %d", o.MinReplicas, maxReplicas)
	case o.ReplicaTimeout < time.Millisecond:
		return o, refuse("replica timeout %v: want 1ms at least", o.ReplicaTimeout)
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
	case !strings.ContainsAny(prefix, "{}"):
		return nil
	}
	// Helper keys and the lock's key have a slot in common only if the prefix
	// has no say in it, or all of it.
	before, rest, opened := strings.Cut(prefix, "{")
	tag, after, closed := strings.Cut(rest, "}")
	if !opened || !closed || tag == "" || strings.ContainsAny(before+after+tag, "{}") {
		return refuse("prefix %q: braces must be one pair with something in it", prefix)
	}
	return nil
}

// New returns a backend on a client of the caller, which stays the caller's:
// closing the backend does not close it. nil stands for default options. It
// does no I/O. A client for Sentinel should have its TopologyRefreshInterval
// set, or it may miss a failover; and a client that is shared with other work
// should have a ConnWriteTimeout well below a third of the TTL.
func New(client rueidis.Client, opts *Options) (driver.Backend, error) {
	if client == nil {
		return nil, refuse("client is nil")
	}
	return NewConn(&rueidisConn{client: client}, opts)
}

// NewConn returns a backend on a client of any library; closing the backend
// closes conn. nil stands for default options. It does no I/O.
func NewConn(conn Conn, opts *Options) (driver.Backend, error) {
	if conn == nil {
		return nil, refuse("client is nil")
	}
	if opts == nil {
		opts = &Options{}
	}
	complete, err := opts.complete()
	if err != nil {
		return nil, err
	}
	return newBackend(conn, complete, complete.url), nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fencehold.ErrInvalid}, args...)...)
}
