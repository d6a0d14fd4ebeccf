package redislock

import (
	"context"
	"time"

	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// Conn is a Redis client as the backend uses it. [New] makes one of a rueidis
// client, package goredislock of a go-redis client; a client of another
// library needs these methods and no more.
//
// What the server answered with an error is returned as a [ServerError]; every
// other error leaves it open whether the request was executed.
type Conn interface {
	// Eval runs a script on the primary that has the slot of keys[0], by
	// EVALSHA, and by EVAL if the server does not have it. MOVED and ASK are
	// followed. A request that may have been executed is not repeated.
	Eval(ctx context.Context, call Call) (string, error)

	// EvalMany runs many scripts in as few round trips as it can, and puts the
	// outcomes into the calls.
	EvalMany(ctx context.Context, calls []Call)

	// EvalWait is Eval, followed on the same connection by WAIT for replicas;
	// it also returns how many of them have confirmed within limit.
	EvalWait(ctx context.Context, call Call, replicas int, limit time.Duration) (string, int, error)

	// Subscribe listens on one connection until ctx ends or the connection is
	// lost, which is an error.
	Subscribe(ctx context.Context, s Subscription) error

	// Primaries calls use for each primary, one after the other, with a
	// function that sends one command to it.
	Primaries(ctx context.Context, use func(addr string, do Do) error) error

	// Mode says what is behind the client.
	Mode() Mode

	// Close ends what the Conn itself opened, and nothing else.
	Close() error
}

// Do sends one command and returns the reply: a string, an int64, nil, or a
// slice or a map of these, as the client library makes them.
type Do func(ctx context.Context, args ...string) (any, error)

// Call is one run of a script. Its answer is one string. Keys and Args are
// used again once the method that was given the call has returned.
type Call struct {
	Script *Script
	Keys   []string
	Args   []string
	// Answer and Err are the outcome, of EvalMany.
	Answer string
	Err    error
}

// Subscription says what to listen to.
type Subscription struct {
	// Channels are of one slot if Sharded, which asks for SSUBSCRIBE.
	Channels []string
	Sharded  bool
	// Ready is called when the server has confirmed all channels.
	Ready func()
	// Message is called for each message, in order.
	Message func(payload string)
}

// ServerError is an error that the server answered. It begins with a code in
// capital letters, such as READONLY.
type ServerError = refusal.ServerError

// Mode says how the servers behind a client belong together.
type Mode int

const (
	// Single is one server.
	Single Mode = iota
	// Sentinel is a primary and replicas, with sentinels that say which is which.
	Sentinel
	// Cluster is a Redis Cluster: keys are spread over slots.
	Cluster
)
