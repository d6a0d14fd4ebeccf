//go:build unix

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

const watchHelp = `Watch shows the locks that are held, again and again. With -o jsonl it prints
one event on each line instead: "acquired", "released", or "changed" when
another holder has the lock. It looks every --interval, so it can miss what is
shorter than that.`

// watchCommand is "fencehold watch".
func (a *app) watchCommand() *cobra.Command {
	interval := &flagvalue.Duration{Value: time.Second, Given: true}
	cmd := &cobra.Command{
		Use:               "watch [flags] [PREFIX]",
		Short:             "Watch locks being taken and released",
		Long:              watchHelp,
		ValidArgsFunction: a.completeLock,
	}
	output := a.outputFlag(cmd, view.Table)
	cmd.Flags().Var(interval, "interval", "time between two looks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := a.format(*output)
		switch {
		case err != nil:
			return err
		case len(args) > 1:
			return a.usagef("%d arguments: want at most one, the beginning of the names", len(args))
		case interval.Value < 10*time.Millisecond:
			return a.usagef("--interval %s: must be at least 10ms", interval.Value)
		}
		w := &view.Watcher{Out: a.stdout, Format: format}
		return a.watch(cmd.Context(), w, strings.Join(args, ""), interval.Value)
	}
	return cmd
}

// watch ends by a signal, which is no failure, or by an error.
func (a *app) watch(ctx context.Context, w *view.Watcher, prefix string, interval time.Duration) error {
	ctx, stop := interruptible(ctx)
	defer stop(nil)
	client, err := a.open(ctx)
	if err != nil {
		return because(ctx, err)
	}
	defer client.Close() //nolint:contextcheck // to close is possible under a context that is over
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		// A tick that comes during a slow look is kept, others are dropped: there is never
		// more than one look at a time.
		locks, err := collect(ctx, client, prefix)
		if err == nil {
			err = w.Show(locks, time.Now())
		}
		if err != nil {
			return quietly(because(ctx, err))
		}
		if readerGone(a.stdout) {
			return exitcode.With(exitcode.Signal+int(unix.SIGPIPE), nil)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return quietly(context.Cause(ctx))
		}
	}
}

// quietly keeps the exit code of an interruption and drops its text.
func quietly(err error) error {
	if i, ok := errors.AsType[exitcode.Interruption](err); ok {
		return exitcode.With(exitcode.Signal+int(i.Signal), nil)
	}
	return err
}
