//go:build unix

package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// lsCommand is "fencehold ls". An empty list is no failure.
func (a *app) lsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "ls [flags] [PREFIX]",
		Aliases:           []string{"list"},
		Short:             "List the locks that are held",
		Long:              "Ls lists the locks that are held, and of which the name begins with PREFIX.",
		ValidArgsFunction: a.completeLock,
	}
	output := a.outputFlag(cmd, view.Table)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := a.format(*output)
		if err != nil {
			return err
		}
		if len(args) > 1 {
			return a.usagef("%d arguments: want at most one, the beginning of the names", len(args))
		}
		locks, err := a.locks(cmd.Context(), strings.Join(args, ""))
		if err != nil {
			return err
		}
		return view.Print(a.stdout, format, locks, time.Now())
	}
	return cmd
}

// locks lists the locks whose names begin with prefix, in order.
func (a *app) locks(ctx context.Context, prefix string) ([]fencehold.Holding, error) {
	client, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close() //nolint:contextcheck // to close is possible under a context that is over
	return collect(ctx, client, prefix)
}

// collect reads all locks before any is shown, and puts them in order.
func collect(ctx context.Context, client *fencehold.Client, prefix string) ([]fencehold.Holding, error) {
	var locks []fencehold.Holding
	// Names appear and go while this runs: it is no picture of one moment.
	for h, err := range client.Locks(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		locks = append(locks, h)
	}
	slices.SortFunc(locks, func(a, b fencehold.Holding) int { return strings.Compare(a.Name, b.Name) })
	return locks, nil
}
