//go:build unix

package main

import (
	"fmt"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	"github.com/spf13/cobra"
)

const acquireHelp = `Acquire takes LOCK and leaves it held when it ends, until it is released or
its time is over: for scripts that cannot be wrapped by "fencehold run".
It prints the token and the id of the holder, which renew and release want.`

const acquireExample = `  holder=$(fencehold acquire -o name --ttl 10m deploy) || exit
  fencehold renew --holder "$holder" --ttl 10m deploy
  fencehold release --holder "$holder" deploy`

// acquireCommand is "fencehold acquire": a lock that outlives this process.
func (a *app) acquireCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:               "acquire [flags] LOCK",
		Short:             "Take a lock and leave it held",
		Long:              acquireHelp,
		Example:           acquireExample,
		ValidArgsFunction: a.completeLock,
	}
	flags := cmd.Flags()
	flags.SetNormalizeFunc(normalizeRunFlag)
	flags.BoolVarP(&f.noWait, "no-wait", "n", false, "do not wait for the lock")
	flags.VarP(&f.wait, "wait", "w", "wait for the lock at most so long")
	flags.IntVarP(&f.busyCode, "busy-exit-code", "E", codeBusy, "exit code if the lock is not had")
	flags.Var(&f.ttl, "ttl", "how long the lock is held unless renewed (default 30s)")
	flags.StringArrayVar(&f.labels, "label", nil, "KEY=VALUE to show with the lock (repeatable)")
	flags.StringVar(&f.owner, "owner", "", "who holds the lock, for people")
	output := outputFlag(cmd, view.JSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.acquire(cmd, f, *output, args) }
	return cmd
}

// acquire takes the lock and prints what its holder needs. A lock of which
// nobody could be told is given back.
func (a *app) acquire(cmd *cobra.Command, f *runFlags, output string, args []string) error {
	name, err := a.lockName(args)
	if err != nil {
		return err
	}
	format, err := a.format(output)
	if err != nil {
		return err
	}
	f.lostCode, f.slots, f.onLost = codeLost, 1, "kill"
	if err := f.check([]string{name}); err != nil {
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
	if !client.Features().Has(fencehold.Detached) {
		return a.usagef("acquire: a lock of %s ends with the process that took it: use run", client.Info().Kind)
	}
	opts := append(f.options(ttl, settings.Get("owner")), fencehold.WithDetached(), fencehold.WithoutRenewal())
	lease, err := client.Mutex(name, opts...).Acquire(ctx)
	if err != nil {
		return f.notAcquired(because(ctx, err))
	}
	if err := view.PrintLease(a.stdout, format, lease); err != nil {
		return a.giveBack(lease, fmt.Errorf("output: %w", err))
	}
	return nil
}
