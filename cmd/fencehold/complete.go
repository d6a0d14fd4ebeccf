//go:build unix

package main

import (
	"context"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/spf13/cobra"
)

// completionTime bounds the look-up of names for the shell.
const completionTime = 300 * time.Millisecond

// complete offers the values of a flag to the shell.
func (a *app) complete(cmd *cobra.Command, flag string, values ...string) {
	offer := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic(err) // a flag that was never declared
	}
}

// completeProfiles offers the profiles of the configuration file. A file with a
// mistake in it has none: the shell is no place to report it.
func (a *app) completeProfiles(root *cobra.Command) {
	offer := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		a.flags = cmd.Flags()
		return config.Profiles(a.source()), cobra.ShellCompDirectiveNoFileComp
	}
	if err := root.RegisterFlagCompletionFunc("profile", offer); err != nil {
		panic(err) // a flag that was never declared
	}
}

// completeLock offers the names of the locks that are held to the shell.
func (a *app) completeLock(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		if cmd.Name() == "run" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.flags = cmd.Flags()
	// Somebody waits at a prompt. A service that is slow has no names.
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	locks, err := a.locks(ctx, prefix)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, h := range locks {
		names = append(names, h.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
