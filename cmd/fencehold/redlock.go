//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/topic"
	"github.com/fencehold/fencehold/redislock/redlock"
	"github.com/spf13/cobra"
)

const repairHelp = `Repair lets servers of a Redlock set vote again that have lost their memory, without
the wait for the longest TTL: it waits 3 seconds until no attempt is under way, copies
the locks that the other servers know, and lets them in. Locks go on meanwhile. It
needs a majority of the other servers.

Where no majority of the set has its memory, there are no locks, and --force founds the
set again, on the servers that answer: on your word that nobody works under a lock of
this set. It waits for the longest TTL first.`

// redlockCommand is "fencehold redlock", with the topic as its help.
func (a *app) redlockCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "redlock",
		Short: "Repair a Redlock set; help redlock is about such sets",
		Long:  topic.Redlock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.usagef("redlock command %q is not known: want repair", args[0])
			}
			return cmd.Help()
		},
	}
	repair := &cobra.Command{
		Use:   "repair [flags]",
		Short: "Let servers vote again that have lost their memory",
		Long:  repairHelp,
	}
	force := repair.Flags().Bool("force", false, "found the set again if no majority has its memory")
	repair.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return a.usagef("%d arguments: want none", len(args))
		}
		return a.repair(cmd.Context(), *force)
	}
	cmd.AddCommand(repair)
	return cmd
}

// repair says on standard output what is being done.
func (a *app) repair(ctx context.Context, force bool) error {
	ctx, stop := interruptible(ctx)
	defer stop(nil)
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if !config.NamesSet(settings.Get("url")) {
		return &exitcode.UsageError{See: "fencehold help redlock", Err: errors.New("redlock repair is for a Redlock set; " +
			"--url names none")}
	}
	set, err := redlock.Open(ctx, config.URLs(settings.Get("url"))...)
	if err != nil {
		return because(ctx, a.ofRedlock(settings, err))
	}
	defer set.Close()
	report := func(text string) {
		if !a.quiet {
			_, _ = fmt.Fprintln(a.stdout, text)
		}
	}
	return because(ctx, redlock.Repair(ctx, set, redlock.RepairOptions{Force: force, Progress: report}))
}
