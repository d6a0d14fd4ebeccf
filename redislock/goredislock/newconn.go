package goredislock

import (
	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/redislock"
)

// NewConn returns what package redislock sees of a client of the caller, which stays
// the caller's: closing the Conn does not close it. It is for [redlock.NewConns], which
// takes one for each server, and refuses clients of Sentinels or of a Cluster. The
// clients that [New] refuses are refused here, too, with [fencehold.ErrInvalid].
//
// [redlock.NewConns]: https://pkg.go.dev/github.com/fencehold/fencehold/redislock/redlock#NewConns
// [fencehold.ErrInvalid]: https://pkg.go.dev/github.com/fencehold/fencehold#ErrInvalid
func NewConn(client redis.UniversalClient) (redislock.Conn, error) {
	c, err := newConn(client)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Addr is the address of the one server of the client, empty if it is not one: what
// package redlock calls it.
func (c *conn) Addr() string {
	if c.single == nil {
		return ""
	}
	return c.single.Options().Addr
}
