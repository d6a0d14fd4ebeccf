//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

// renewCommand is "fencehold renew": more time for what acquire took.
func (a *app) renewCommand() *cobra.Command {
	var f fenceFlags
	var ttl flagvalue.Duration
	cmd := &cobra.Command{
		Use:               "renew [flags] LOCK",
		Short:             "Keep a lock that was taken with acquire",
		Long:              "Renew lets LOCK be held for the time of --ttl from now, never for less than before.",
		ValidArgsFunction: a.completeLock,
	}
	f.declareOwn(cmd)
	cmd.Flags().Var(&ttl, "ttl", "how long the lock is held unless renewed (default 30s)")
	output := a.outputFlag(cmd, view.JSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := a.format(*output)
		if err != nil {
			return err
		}
		return a.withLease(cmd, f, args, func(ctx context.Context, lease *fencehold.Lease, ttl time.Duration) error {
			if err := lease.Extend(ctx, ttl); err != nil {
				return err
			}
			return view.PrintLease(a.stdout, format, lease)
		})
	}
	return cmd
}

// withLease takes up the lease that another call of this command acquired.
func (a *app) withLease(cmd *cobra.Command, f fenceFlags, args []string,
	do func(context.Context, *fencehold.Lease, time.Duration) error,
) error {
	name, err := a.lockName(args)
	if err != nil {
		return err
	}
	fence, err := f.fence(name)
	if err != nil {
		return a.usage(err)
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	ttl, err := flagvalue.ParseDuration(settings.Get("ttl"))
	if err != nil {
		return a.invalid(settings, "ttl", err)
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop(nil)
	client, err := a.open(ctx)
	if err != nil {
		return because(ctx, err)
	}
	defer client.Close()
	// The token is compared here: another one is no mistake of the call, but a grant
	// that does not stand.
	token := fence.Token
	fence.Token = 0
	lease, err := client.Resume(ctx, fence, fencehold.WithoutRenewal())
	if err == nil && token != 0 && token != lease.Token() {
		return exitcode.With(exitcode.Lost,
			fmt.Errorf("lock %q: not held with token %s: the token is %s", name, token, lease.Token()))
	}
	if err == nil {
		err = do(ctx, lease, ttl)
	}
	if loss, ok := errors.AsType[*fencehold.LostError](err); ok {
		return f.notHeld(fence, loss)
	}
	return because(ctx, err)
}

// giveBack releases a lease that could not be handed to the caller.
func (a *app) giveBack(lease *fencehold.Lease, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	// Under a context of its own: that of the call may be what has ended.
	if e := lease.Release(ctx); e != nil {
		return errors.Join(err, fmt.Errorf("lock stays held: %w", e))
	}
	return err
}
