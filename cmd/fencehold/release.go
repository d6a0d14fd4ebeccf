//go:build unix

package main

import (
	"context"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/spf13/cobra"
)

// releaseCommand is "fencehold release": the end of acquire.
func (a *app) releaseCommand() *cobra.Command {
	var f fenceFlags
	cmd := &cobra.Command{
		Use:   "release [flags] LOCK",
		Short: "Release a lock that was taken with acquire",
		Long: "Release frees LOCK if it is held under the id of --holder. Otherwise it changes\n" +
			"nothing and exits with 79. To free the lock of somebody else, see fencehold unlock.",
		ValidArgsFunction: a.completeLock,
	}
	f.declareOwn(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withLease(cmd, f, args, func(ctx context.Context, lease *fencehold.Lease, _ time.Duration) error {
			return lease.Release(ctx)
		})
	}
	return cmd
}
