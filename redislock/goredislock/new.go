package goredislock

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
)

// failoverAddr is what go-redis puts in the place of an address into the
// options of a client that NewFailoverClient made. Nothing else tells.
const failoverAddr = "FailoverClient"

// New returns a backend on a client of the caller, which stays the caller's:
// closing the backend does not close it. nil stands for default options. It
// does no I/O.
//
// A [redis.Client] is one server, or a set under Sentinel if
// [redis.NewFailoverClient] made it; a [redis.ClusterClient] is a Redis
// Cluster. Every other client is refused with [fencehold.ErrInvalid]: a
// [redis.Ring] spreads keys over servers that know nothing of each other; and
// a ClusterClient that asks a function for its slots, as
// [redis.NewFailoverClusterClient] makes it, is not in front of a Cluster and
// would name its keys in another way than all other clients of that server.
func New(client redis.UniversalClient, opts *redislock.Options) (driver.Backend, error) {
	c, err := newConn(client)
	if err != nil {
		return nil, err
	}
	return redislock.NewConn(c, opts)
}

// newConn finds out what is behind a client.
func newConn(client redis.UniversalClient) (*conn, error) {
	switch client := client.(type) {
	case nil:
		return nil, refuse("client is nil")
	case *redis.Client:
		if client == nil {
			return nil, refuse("client is nil")
		}
		return &conn{client: client, single: client, mode: modeOf(client)}, nil
	case *redis.ClusterClient:
		return newClusterConn(client)
	case *redis.Ring:
		return nil, refuse("client is a Ring: its servers do not agree on who holds a lock")
	}
	return nil, refuse("client is a %T: want a *redis.Client or a *redis.ClusterClient", client)
}

// newClusterConn is newConn for a Cluster.
func newClusterConn(client *redis.ClusterClient) (*conn, error) {
	switch {
	case client == nil:
		return nil, refuse("client is nil")
	case client.Options().ClusterSlots != nil:
		return nil, refuse("client is told its slots by a function: want NewFailoverClient, or a Redis Cluster")
	}
	return &conn{client: client, cluster: client, mode: redislock.Cluster}, nil
}

// modeOf tells a client for Sentinel from one for a single server.
func modeOf(client *redis.Client) redislock.Mode {
	if client.Options().Addr == failoverAddr {
		return redislock.Sentinel
	}
	return redislock.Single
}

// refuse returns an [fencehold.ErrInvalid] with a reason.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fencehold.ErrInvalid}, args...)...)
}
