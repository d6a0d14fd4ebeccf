//go:build unix

package main

import (
	"fmt"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/runflag"
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
	f := &runflag.Flags{}
	cmd := &cobra.Command{
		Use:               "acquire [flags] LOCK",
		Short:             "Take a lock and leave it held",
		Long:              acquireHelp,
		Example:           acquireExample,
		ValidArgsFunction: a.completeLock,
	}
	flags := cmd.Flags()
	flags.SetNormalizeFunc(runflag.Normalize)
	flags.BoolVarP(&f.NoWait, "no-wait", "n", false, "do not wait for the lock; connecting takes its time")
	flags.VarP(&f.Wait, "wait", "w", "wait for the lock at most so long; connecting comes on top")
	flags.IntVarP(&f.BusyCode, "busy-exit-code", "E", exitcode.Busy, "exit code if the lock is not had")
	flags.Var(&f.TTL, "ttl", "how long the lock is held unless renewed (default 30s)")
	flags.StringArrayVar(&f.Labels, "label", nil, "KEY=VALUE to show with the lock (repeatable)")
	flags.StringVar(&f.Owner, "owner", "", "who holds the lock, for people")
	output := a.outputFlag(cmd, view.JSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.acquire(cmd, f, *output, args) }
	return cmd
}

// acquire takes the lock and prints what its holder needs. A lock of which
// nobody could be told is given back.
func (a *app) acquire(cmd *cobra.Command, f *runflag.Flags, output string, args []string) error {
	name, err := a.lockName(args)
	if err != nil {
		return err
	}
	format, err := a.format(output)
	if err != nil {
		return err
	}
	if err := refuseClosed(a.stdout); err != nil {
		return err
	}
	f.LostCode, f.Slots, f.OnLost = exitcode.Lost, 1, "kill"
	if err := f.Check([]string{name}); err != nil {
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
	bare := make(chan fencehold.Event, 1)
	client, err := a.open(ctx, fencehold.WithHooks(fencehold.Hooks{
		RedundancyLost: func(e fencehold.Event) { bare <- e },
	}))
	if err != nil {
		return because(ctx, err)
	}
	defer client.Close()
	if !client.Features().Has(fencehold.Detached) {
		return a.usagef("acquire: a lock of %s ends with the process that took it: use run", client.Info().Kind)
	}
	// Both at once: a detached lease that was renewed would live as long as this
	// process and then stop being kept, at a time that nobody chose.
	opts := append(f.Options(ttl, settings.Get("owner")), fencehold.WithDetached(), fencehold.WithoutRenewal())
	lease, err := client.Mutex(name, opts...).Acquire(ctx)
	if err != nil {
		return f.NotAcquired(because(ctx, err))
	}
	// The lock is held by now, and only the output has its id.
	survivePipe()
	if err := view.PrintLease(a.stdout, format, lease); err != nil {
		return a.giveBack(lease, fmt.Errorf("output: %w", err))
	}
	if client.Info().Kind == "redlock" {
		a.warnBare(lease, bare)
	}
	return nil
}

// lateAnswers is how long the last server of a set may take until it is known on how
// many of them a lock is: a bit longer than the longest wait for one server.
const lateAnswers = 1500 * time.Millisecond

// warnBare warns if a lock is on a bare majority of the servers of a Redlock set,
// which is known once all have answered or have taken too long.
func (a *app) warnBare(lease *fencehold.Lease, bare <-chan fencehold.Event) {
	for end := time.Now().Add(lateAnswers); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		switch spare, known := lease.Redundancy(); {
		case known && spare > 0:
			return
		case known:
			guarded.WarnBare(a.notices(), <-bare)
			return
		}
	}
}
