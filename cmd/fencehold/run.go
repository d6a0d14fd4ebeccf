//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/guarded"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
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
	f := &runFlags{}
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
	f.declare(cmd.Flags())
	return cmd
}

// runLocked is "fencehold run". Everything that can be refused is refused
// before the lock is taken.
func (a *app) runLocked(cmd *cobra.Command, f *runFlags, args []string) error {
	lock, argv, err := a.splitRun(cmd, args)
	if help, _ := cmd.Flags().GetBool("help"); help {
		return cmd.Help()
	}
	if err == nil {
		argv, err = f.shellForm(argv)
	}
	if err == nil {
		err = f.check(argv)
	}
	if err != nil {
		return a.usage(err)
	}
	spec, err := a.runSpec(f, lock, argv)
	if err != nil {
		return err
	}
	if err := a.refuseReentry(cmd.Context(), lock); err != nil {
		return err
	}
	return a.conclude(f, spec, guarded.Run(cmd.Context(), spec))
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
		return "", nil, err
	}
	return args[0], cmd.Flags().Args(), nil
}

// runSpec puts flags and settings together. It also finds the command, so that
// one that is missing is reported before the lock is asked for.
func (a *app) runSpec(f *runFlags, lock string, argv []string) (guarded.Spec, error) {
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
	path, err := process.Lookup(argv[0], os.Getenv("PATH"))
	if err != nil {
		return guarded.Spec{}, err
	}
	sig, err := flagvalue.ParseSignal(f.signal)
	if err != nil {
		return guarded.Spec{}, a.usage(err)
	}
	return guarded.Spec{
		Lock: lock, Open: a.open, Options: f.options(ttl, settings.Get("owner")),
		Path: path, Args: argv, Env: os.Environ(), Grace: max(grace, time.Millisecond), Signal: sig,
		MaxHold: f.maxHold.Value, WarnOnly: f.onLost == "warn", Terminal: f.terminal(),
		NoStdin: f.noStdin, Keeper: a.keeper, NoKeeper: f.noGuard, Notices: a.notices(),
	}, nil
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
	defer client.Close()
	held, err := client.Inspect(ctx, lock)
	if err != nil {
		return err
	}
	for _, f := range frames {
		if f.Name == lock && f.Backend == client.Info().URL && held.Held && f.Token == held.Token.String() {
			return a.usagef("lock %q is held by a run around this one (token %s): it would wait for itself",
				lock, f.Token)
		}
	}
	return nil
}

// conclude writes the status file and turns the result into an exit code.
func (a *app) conclude(f *runFlags, spec guarded.Spec, r guarded.Result) error {
	err := f.verdict(spec, r)
	code := exitCode(err)
	if f.statusFile != "" {
		if e := guarded.WriteStatus(f.statusFile, spec.Lock, code, r); e != nil {
			a.notices().Warn("status file: %s", e)
		}
	}
	return err
}

// verdict is the error for the result, nil for exit code 0.
func (f *runFlags) verdict(spec guarded.Spec, r guarded.Result) error {
	switch r.Outcome {
	case guarded.Exited, guarded.Signaled:
		return &exitError{code: commandCode(r)}
	case guarded.Lost, guarded.TooLong:
		if spec.WarnOnly && r.Ran && commandCode(r) != 0 {
			return &exitError{code: commandCode(r)}
		}
		return &exitError{code: f.lostCode}
	case guarded.Interrupted:
		return interruption{r.Signal}
	case guarded.NotStarted:
		return &exitError{notStarted(r.Err), fmt.Errorf("%s: %w", spec.Args[0], r.Err)}
	case guarded.Failed:
		return &exitError{codeSoftware, r.Err}
	}
	return f.notAcquired(r.Err)
}

// notAcquired gives an error of the acquisition the code that the flags want.
func (f *runFlags) notAcquired(err error) error {
	switch {
	case errors.Is(err, fencehold.ErrHeld):
		return &exitError{f.busyCode, err}
	case errors.Is(err, fencehold.ErrLost):
		return &exitError{f.lostCode, err}
	}
	return cmp.Or(err, error(&exitError{codeSoftware, errors.New("no outcome")}))
}

// commandCode is the exit code of a shell for what became of the command.
func commandCode(r guarded.Result) int {
	if r.Status.Signaled() {
		return codeSignal + int(r.Status.Signal())
	}
	return r.Status.ExitStatus()
}

// notStarted is a shell's exit code for a command that could not be executed
// after the lock was acquired, such as a script whose interpreter is missing.
func notStarted(err error) int {
	if errors.Is(err, os.ErrNotExist) {
		return codeNotFound
	}
	return codeNotExec
}
