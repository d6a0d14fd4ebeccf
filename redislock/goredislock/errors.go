package goredislock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/redislock"
)

// The ends of a subscription that nobody asked for.
var (
	errSilent       = errors.New("subscription: the server has fallen silent")
	errUnsubscribed = errors.New("subscription was ended by the server")
	errAgain        = errors.New("subscription was interrupted")
)

// errForgetful is the error of a server that does not keep a script.
var errForgetful = errors.New("the server does not keep the script that it was sent")

// serverError marks what the server answered. Null is no error.
func serverError(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return nil
	}
	if answered, ok := errors.AsType[redis.Error](err); ok {
		return redislock.ServerError(answered.Error())
	}
	return err
}

// isNoScript tells whether the server does not have a script.
func isNoScript(err error) bool {
	answered, ok := errors.AsType[redislock.ServerError](err)
	return ok && strings.HasPrefix(string(answered), "NOSCRIPT")
}

// serverErrorOf is serverError for what came by the client itself. In a
// Cluster a redirection is left over if there were too many, and also if the
// answer of the node that the last one led to was lost.
func (c *conn) serverErrorOf(err error) error {
	err = serverError(err)
	answered, ok := errors.AsType[redislock.ServerError](err)
	if c.mode == redislock.Cluster && ok && isRedirection(string(answered)) {
		return fmt.Errorf("redirected without an answer: %s", string(answered))
	}
	return err
}

// isRedirection tells whether an error names another node.
func isRedirection(text string) bool {
	return strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "ASK ")
}

// suspect has a client of a Cluster look at the nodes again after an error that
// no server answered. go-redis would do so only when it repeats a command, or
// after its StateReloadInterval.
func (c *conn) suspect(ctx context.Context, err error) {
	if c.cluster == nil || err == nil || errors.Is(err, context.Canceled) {
		return
	}
	if _, answered := errors.AsType[redislock.ServerError](err); !answered {
		c.cluster.ReloadState(ctx)
	}
}
