package goredislock

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/redislock"
)

// command is a command that go-redis does not send a second time once it may
// have been executed. It still follows MOVED and ASK.
type command struct{ *redis.Cmd }

// NoRetry implements [redis.Cmder]: every client, and every pipeline that the
// command is in, asks it before sending again.
func (command) NoRetry() bool { return true }

// Clone implements [redis.Cmder]; the copy is not repeated either.
func (c command) Clone() redis.Cmder {
	clone, _ := c.Cmd.Clone().(*redis.Cmd)
	return command{clone}
}

// newCommand returns a command of any arguments.
func newCommand(ctx context.Context, args ...any) command {
	return command{redis.NewCmd(ctx, args...)}
}

// builder makes a command that runs a script.
type builder func(ctx context.Context, call redislock.Call) command

// evalsha runs a script by its digest.
func evalsha(ctx context.Context, call redislock.Call) command {
	return scriptCommand(ctx, "evalsha", call.Script.SHA1(), call)
}

// eval runs a script by its text.
func eval(ctx context.Context, call redislock.Call) command {
	return scriptCommand(ctx, "eval", call.Script.Source(), call)
}

// firstKey is where the first key of a script stands among the arguments.
const firstKey = 3

// scriptCommand is what evalsha and eval have in common.
func scriptCommand(ctx context.Context, name, script string, call redislock.Call) command {
	args := make([]any, 0, firstKey+len(call.Keys)+len(call.Args))
	args = append(args, name, script, len(call.Keys))
	for _, key := range call.Keys {
		args = append(args, key)
	}
	for _, arg := range call.Args {
		args = append(args, arg)
	}
	cmd := newCommand(ctx, args...)
	// Known in advance, they spare a client of a Cluster the request COMMAND,
	// which a user with few rights may not send.
	cmd.SetFirstKeyPos(firstKey)
	cmd.SetStepCount(1)
	return cmd
}
