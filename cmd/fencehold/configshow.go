//go:build unix

package main

import (
	"github.com/fencehold/fencehold/cmd/fencehold/internal/topic"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// configCommand is "fencehold config show".
func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings; help config is about their file",
		Long:  topic.Config,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.usagef("config command %q is not known: want show", args[0])
			}
			return cmd.Help()
		},
	}
	show := &cobra.Command{
		Use:   "show",
		Short: "Show the settings that count, without passwords",
		Long: "Show prints the settings that count: flags before the environment, before the\n" +
			"profile and the top of the configuration file, before the defaults.",
	}
	origin := show.Flags().Bool("origin", false, "show where each value comes from")
	output := a.outputFlag(show, view.Table)
	show.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := a.format(*output)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			return a.usagef("%d arguments: want none", len(args))
		}
		settings, err := a.settings()
		if err != nil {
			return err
		}
		return view.PrintSettings(a.stdout, format, settings.All(), *origin)
	}
	cmd.AddCommand(show)
	return cmd
}
