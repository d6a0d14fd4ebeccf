//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/keeper"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/notice"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
	_ "github.com/fencehold/fencehold/filelock"  // the scheme file://
	_ "github.com/fencehold/fencehold/memlock"   // the scheme mem://
	_ "github.com/fencehold/fencehold/redislock" // redis:// and its many forms
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// app is one call of the command.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	keeper  *keeper.Keeper // started in advance, nil for none
	quiet   bool
	verbose bool
	flags   *pflag.FlagSet // those of the subcommand that was called
	config  *config.Config // nil before it was needed
}

// run executes one command line and returns the exit code. The command under
// "run" has the streams of the process, not those of the app.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.tree() //nolint:contextcheck // cobra hands it on to each command
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && exitcode.Of(err) == exitcode.Software && (cmd == root || isCobra(err)) {
		err = &exitcode.UsageError{Command: cmd.CommandPath(), Err: unknownCommand(root, err)}
	}
	a.report(err)
	return exitcode.Of(err)
}

// report prints err as one line. Only mistakes in the command line are
// reported to those who want quiet.
func (a *app) report(err error) {
	if err == nil || err.Error() == "" {
		return
	}
	level := notice.Normal
	if exitcode.Of(err) != exitcode.Usage {
		level = a.level()
	}
	notice.New(a.stderr, level, a.logsJSON()).Error(err)
}

// level is what the flags -q and -v ask for.
func (a *app) level() notice.Level {
	switch {
	case a.quiet:
		return notice.Quiet
	case a.verbose:
		return notice.Verbose
	}
	return notice.Normal
}

// logsJSON reports whether messages are JSON. Before the settings are known,
// what the command line and the environment say is, as far as it was read.
func (a *app) logsJSON() bool {
	if a.config != nil {
		return a.config.Get("log_format") == "json"
	}
	if a.flags != nil && a.flags.Changed("log-format") {
		f := a.flags.Lookup("log-format")
		return f.Value.String() == "json"
	}
	return os.Getenv("FENCEHOLD_LOG_FORMAT") == "json"
}

// notices is where this call's messages go.
func (a *app) notices() *notice.Printer { return notice.New(a.stderr, a.level(), a.logsJSON()) }

// tree builds the commands.
func (a *app) tree() *cobra.Command {
	root := &cobra.Command{
		Use:   "fencehold",
		Short: "Run commands under a lock, and look after locks",
		Long: "Fencehold runs commands under a lock, and looks after locks.\n" +
			"Without a --url, locks are kept on this machine and need no server.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.DisableSuggestions = true // one line says it all, see unknownCommand
	root.SuggestionsMinimumDistance = 2
	root.Version = view.ReadVersion().String()
	root.SetVersionTemplate("fencehold {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.flags = cmd.Flags()
		return &exitcode.UsageError{Command: cmd.CommandPath(), Err: err}
	})
	a.globalFlags(root.PersistentFlags())
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { a.flags = cmd.Flags() }
	root.AddCommand(
		a.runCommand(), a.acquireCommand(), a.renewCommand(), a.releaseCommand(), a.checkCommand(),
		a.lsCommand(), a.inspectCommand(), a.unlockCommand(), a.watchCommand(), a.doctorCommand(),
		a.redlockCommand(), a.configCommand(), a.versionCommand(),
	)
	root.AddCommand(topics()...)
	a.complete(root, "log-format", "text", "json")
	a.completeProfiles(root)
	a.helpCommand(root)
	a.completionCommand(root)
	return root
}

// globalFlags are those that every command takes.
func (a *app) globalFlags(flags *pflag.FlagSet) {
	flags.Var(new(urlFlag), "url", "where the locks are kept; once for each server of a Redlock set;"+
		" see fencehold help urls (default file://)")
	flags.String("config", "", "configuration file (see fencehold help config)")
	flags.String("profile", "", "profile of the configuration file")
	flags.String("log-format", "text", "messages on standard error: text or json")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no messages")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "print more messages")
}

// settings loads the configuration, once.
// Not before a command needs them: help and version work with a broken file.
func (a *app) settings() (*config.Config, error) {
	if a.config != nil {
		return a.config, nil
	}
	if err := a.checkURLs(); err != nil {
		return nil, err
	}
	c, err := config.Load(a.source())
	if err != nil {
		return nil, err
	}
	if f := c.Get("log_format"); f != "text" && f != "json" {
		return nil, a.invalid(c, "log_format", fmt.Errorf("%q: want text or json", f))
	}
	a.config = c
	return c, nil
}

// source is where the settings of this call come from.
func (a *app) source() config.Source {
	given := map[string]string{}
	a.flags.Visit(func(f *pflag.Flag) {
		given[strings.ReplaceAll(f.Name, "-", "_")] = f.Value.String()
	})
	return config.Source{Flags: given, Getenv: os.Getenv, Home: passwdHome}
}

// passwdHome is the home directory of the user database, empty if there is
// none. Cron jobs and services may have no HOME, or somebody else's.
func passwdHome() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// invalid blames whoever set the value of key.
func (a *app) invalid(c *config.Config, key string, err error) error {
	err = c.Invalid(key, err)
	if c.FromFlag(key) {
		return a.usage(err)
	}
	return err
}

// helpURLs is what to read about a URL that is wrong.
const helpURLs = "fencehold help urls"

// invalidURL is invalid for the URL, which has a help page of its own.
func (a *app) invalidURL(c *config.Config, err error) error {
	if c.FromFlag("url") {
		return &exitcode.UsageError{See: helpURLs, Err: c.Invalid("url", err)}
	}
	return c.Invalid("url", fmt.Errorf("%w; see %s", err, helpURLs))
}

// usage makes err a mistake in the command line.
func (a *app) usage(err error) error { return &exitcode.UsageError{Command: a.commandPath(), Err: err} }

// usagef is usage with a text of its own.
func (a *app) usagef(format string, args ...any) error { return a.usage(fmt.Errorf(format, args...)) }

// commandPath is what the user called, for the hint at its help.
func (a *app) commandPath() string {
	if a.flags == nil || a.flags.Name() == "" {
		return "fencehold"
	}
	return "fencehold " + a.flags.Name()
}

// open connects to the lock service of the settings. Its close function must
// be called.
// To be called once for each call of the command: a second client would be a second
// waiter in line.
func (a *app) open(ctx context.Context, opts ...fencehold.Option) (*fencehold.Client, error) {
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	client, err := connect(ctx, c.Get("url"), opts...)
	if err != nil && errors.Is(err, fencehold.ErrInvalid) {
		return nil, a.invalidURL(c, err)
	}
	return client, err
}

// interruptible returns a context that the signals end which end a command
// that waits.
func interruptible(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	// One place is enough: the first signal ends it, and the others say the same.
	signals := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	go func() {
		select {
		case sig := <-signals:
			cancel(exitcode.Interruption{Signal: sig.(unix.Signal)})
		case <-ctx.Done():
		}
		// From here on a second signal has its default effect, and ends a command that
		// hangs while it cleans up.
		signal.Stop(signals)
	}()
	return ctx, cancel
}

// because returns the cause of ctx's end, if that is what err is about.
// The service's own error says only that its context ended.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// lockName takes the only argument of a command.
func (a *app) lockName(args []string) (string, error) {
	if len(args) != 1 {
		return "", a.usagef("%d arguments: want one, the name of a lock", len(args))
	}
	if args[0] == "" {
		return "", a.usagef("lock name is empty")
	}
	return args[0], nil
}
