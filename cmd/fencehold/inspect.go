//go:build unix

package main

import (
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// inspectCommand is "fencehold inspect": all about one lock.
func (a *app) inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "inspect [flags] LOCK",
		Aliases:           []string{"status"},
		Short:             "Show one lock, its holder and who waits for it",
		Long:              "Inspect shows everything that is known of LOCK, held or not.",
		ValidArgsFunction: a.completeLock,
	}
	output := a.outputFlag(cmd, view.Table)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := a.lockName(args)
		if err != nil {
			return err
		}
		format, err := a.format(*output)
		if err != nil {
			return err
		}
		client, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		defer client.Close()
		held, err := client.Inspect(cmd.Context(), name)
		if err != nil {
			return err
		}
		return view.PrintInspected(a.stdout, format, held, client.Info())
	}
	return cmd
}
