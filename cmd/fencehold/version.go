//go:build unix

package main

import (
	"fmt"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// versionCommand is "fencehold version".
func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version"}
	output := a.outputFlag(cmd, view.Table)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		format, err := a.format(*output)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			return a.usagef("%d arguments: want none", len(args))
		}
		v := view.ReadVersion()
		switch format {
		case view.JSON:
			return view.WriteJSON(a.stdout, v)
		case view.Lines:
			return view.WriteLine(a.stdout, v)
		}
		_, err = fmt.Fprintf(a.stdout, "fencehold %s\n", v)
		return err
	}
	return cmd
}
