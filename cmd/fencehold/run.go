//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/runflag"
	"github.com/spf13/cobra"
)

const runHelp = `Run waits for LOCK, runs CMD while it is held, and releases it when CMD and
all that it left in its process group are gone. CMD's streams are those of
fencehold, and its exit code becomes fencehold's; see fencehold help exit-codes.

CMD gets FENCEHOLD_TOKEN and more in its environment; see fencehold help env.
It is stopped, with all of its process group, before the lock can go to
somebody else: also when fencehold is killed, or frozen for too long.`

const runExample = `  fencehold run -w 10m deploy -- ./deploy.sh
  fencehold run -n -E 0 --min-hold 60s rollup -- /opt/jobs/rollup
  fencehold run report -c 'make report > report.txt'`

// runCommand is "fencehold run".
func (a *app) runCommand() *cobra.Command {
	f := &runflag.Flags{}
	cmd := &cobra.Command{
		Use:     "run [flags] LOCK [--] CMD [ARG...]",
		Short:   "Run a command under a lock",
		Long:    runHelp,
		Example: runExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runLocked(cmd, f, args)
		},
		ValidArgsFunction: a.completeLock,
	}
	f.Declare(cmd.Flags())
	a.complete(cmd, "on-lost", "kill", "warn")
	return cmd
}

// runLocked is "fencehold run". Everything that can be refused is refused
// before the lock is taken.
func (a *app) runLocked(cmd *cobra.Command, f *runflag.Flags, args []string) error {
	lock, argv, err := a.splitRun(cmd, args)
	if help, _ := cmd.Flags().GetBool("help"); help {
		return cmd.Help()
	}
	if err != nil {
		return a.refused(f, lock, a.usage(err))
	}
	spec, err := a.prepare(cmd.Context(), f, lock, argv)
	if err != nil {
		return a.refused(f, lock, err)
	}
	return a.conclude(f, spec, guarded.Run(cmd.Context(), spec))
}

// prepare refuses what can be refused, and returns what is left to do.
func (a *app) prepare(ctx context.Context, f *runflag.Flags, lock string, argv []string) (guarded.Spec, error) {
	argv, err := f.ShellForm(argv)
	if err == nil {
		err = f.Check(argv)
	}
	if err != nil {
		return guarded.Spec{}, a.usage(err)
	}
	if err := a.refuseAlone(); err != nil {
		return guarded.Spec{}, err
	}
	spec, err := a.runSpec(f, lock, argv)
	if err != nil {
		return guarded.Spec{}, err
	}
	return spec, a.refuseReentry(ctx, lock)
}

// refused writes the status file of a run that comes to nothing: that of an
// earlier run must not be taken for its own.
func (a *app) refused(f *runflag.Flags, lock string, err error) error {
	a.writeStatus(f, lock, guarded.Result{Outcome: guarded.NotStarted, Err: err}, exitcode.Of(err))
	return err
}

// splitRun takes the flags after LOCK, too, and leaves those of CMD alone.
func (a *app) splitRun(cmd *cobra.Command, args []string) (lock string, argv []string, err error) {
	if len(args) == 0 {
		return "", nil, errors.New("no LOCK: want the name of a lock and a command")
	}
	if args[0] == "" {
		return "", nil, errors.New("lock name is empty")
	}
	if err := cmd.Flags().Parse(args[1:]); err != nil {
		return args[0], nil, err
	}
	return args[0], cmd.Flags().Args(), nil
}

// runSpec puts flags and settings together. It also finds the command, so that
// one that is missing is reported before the lock is asked for.
func (a *app) runSpec(f *runflag.Flags, lock string, argv []string) (guarded.Spec, error) {
	settings, err := a.settings()
	if err != nil {
		return guarded.Spec{}, err
	}
	ttl, err := flagvalue.ParseDuration(settings.Get("ttl"))
	if err != nil {
		return guarded.Spec{}, a.invalid(settings, "ttl", err)
	}
	grace := min(5*time.Second, ttl/4)
	if s := settings.Get("kill_after"); s != "" {
		if grace, err = flagvalue.ParseDuration(s); err != nil {
			return guarded.Spec{}, a.invalid(settings, "kill_after", err)
		}
	}
	path, err := process.Lookup(argv[0], process.SearchPath())
	if err != nil {
		return guarded.Spec{}, err
	}
	sig, err := flagvalue.ParseSignal(f.Signal)
	if err != nil {
		return guarded.Spec{}, a.usage(err)
	}
	return guarded.Spec{
		Lock: lock, Open: a.openFor(f), Options: f.Options(ttl, settings.Get("owner")),
		Path: path, Args: argv, Env: os.Environ(), Grace: max(grace, time.Millisecond), Signal: sig,
		MaxHold: f.MaxHold.Value, WarnOnly: f.OnLost == "warn", Terminal: f.OnTerminal(),
		NoStdin: f.NoStdin, Keeper: a.keeper, NoKeeper: f.NoGuard, Notices: a.notices(),
	}, nil
}

// openFor opens a lock service that can do what the flags ask for.
func (a *app) openFor(f *runflag.Flags) func(context.Context, ...fencehold.Option) (*fencehold.Client, error) {
	return func(ctx context.Context, opts ...fencehold.Option) (*fencehold.Client, error) {
		client, err := a.open(ctx, opts...)
		if err != nil || f.MinHold.Value == 0 || client.Features().Has(fencehold.MinHold) {
			return client, err
		}
		kind := client.Info().Kind
		_ = client.Close() //nolint:contextcheck // to close is possible under a context that is over
		return nil, a.usagef("--min-hold: a lock of %s is free as soon as it is released: end the command later, or use "+
			"another lock service", kind)
	}
}

// refuseAlone refuses a lock service that lives in this process: it would grant
// every run its lock, all at the same time.
func (a *app) refuseAlone() error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if scheme, _, _ := strings.Cut(settings.Get("url"), ":"); strings.EqualFold(scheme, "mem") {
		return a.usagef("run: locks of mem:// exclude nothing outside this process: want another --url")
	}
	return nil
}

// refuseReentry refuses a lock that a run around this one holds: to wait for
// it would be to wait for oneself.
func (a *app) refuseReentry(ctx context.Context, lock string) error {
	frames := guarded.Stack(os.Getenv(guarded.EnvStack))
	if !slices.ContainsFunc(frames, func(f guarded.Frame) bool { return f.Name == lock }) {
		return nil
	}
	client, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:contextcheck // to close is possible under a context that is over
	// The stack only says that there was such a run. Whether it still has the lock is
	// known to the lock service, by the token: one place has many URLs.
	held, err := client.Inspect(ctx, lock)
	if err != nil {
		return err
	}
	for _, f := range frames {
		if f.Name == lock && held.Held && held.Token != 0 && f.Token == held.Token.String() {
			return a.usagef("lock %q is held by a run around this one (token %s): it would wait for itself",
				lock, f.Token)
		}
	}
	return nil
}

// conclude writes the status file and turns the result into an exit code.
func (a *app) conclude(f *runflag.Flags, spec guarded.Spec, r guarded.Result) error {
	err := f.Verdict(spec, r)
	a.writeStatus(f, spec.Lock, r, exitcode.Of(err))
	return err
}

// writeStatus writes the status file, if one is wanted.
func (a *app) writeStatus(f *runflag.Flags, lock string, r guarded.Result, code int) {
	if f.StatusFile == "" {
		return
	}
	if err := guarded.WriteStatus(f.StatusFile, lock, code, r); err != nil {
		a.notices().Warn("status file: %s", err)
	}
}
