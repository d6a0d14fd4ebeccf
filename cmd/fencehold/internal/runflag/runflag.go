//go:build unix

// Package runflag holds the flags of "fencehold run", of which "fencehold
// acquire" has some: it declares them under the names that other tools have for
// them, refuses what they cannot mean, and turns them into options.
package runflag

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"github.com/spf13/pflag"
)

// Flags are the flags of "run". TTL, KillAfter and Owner are settings of the
// configuration too: what counts is asked there.
type Flags struct {
	NoWait       bool
	Wait         flagvalue.Duration
	TTL          flagvalue.Duration
	KillAfter    flagvalue.Duration
	MinHold      flagvalue.Duration
	MaxHold      flagvalue.Duration
	BusyCode     int
	LostCode     int
	Shared       bool
	Exclusive    bool
	Slots        int
	Shell        string
	Signal       string
	OnLost       string
	Labels       []string
	Owner        string
	NoStdin      bool
	Foreground   bool
	NoForeground bool
	NoGuard      bool
	StatusFile   string

	declared *pflag.FlagSet // where the flags are, nil if nowhere
}

// TTLHelp is what --ttl means for a run, whatever ends a lock of the service.
const TTLHelp = "how long fencehold may be silent before its command is stopped and,\n" +
	"where locks run out by time, the lock is lost"

// Declare adds the flags to the set, with the names that flock(1), timeout(1)
// and consul lock have for them.
// Flags end at CMD: what follows is its own, even where it looks like ours.
func (f *Flags) Declare(flags *pflag.FlagSet) {
	f.declared = flags
	flags.SetInterspersed(false)
	flags.SetNormalizeFunc(Normalize)
	flags.BoolVarP(&f.NoWait, "no-wait", "n", false, "do not wait for the lock; connecting takes its time (also --nonblock, --nb)")
	flags.VarP(&f.Wait, "wait", "w", "wait for the lock at most so long; connecting comes on top; 0 is -n (also --timeout)")
	flags.IntVarP(&f.BusyCode, "busy-exit-code", "E", exitcode.Busy, "exit code if the lock is not had (also --conflict-exit-code)")
	flags.IntVar(&f.LostCode, "lost-exit-code", exitcode.Lost, "exit code if the lock is lost")
	flags.BoolVarP(&f.Shared, "shared", "s", false, "share the lock with other readers")
	flags.BoolVarP(&f.Exclusive, "exclusive", "x", false, "share the lock with nobody (default)")
	flags.IntVarP(&f.Slots, "slots", "N", 1, "number of holders at a time")
	flags.StringVarP(&f.Shell, "command", "c", "", "run this string with $SHELL instead of CMD")
	flags.Var(&f.TTL, "ttl", TTLHelp+" (default 30s)")
	flags.VarP(&f.KillAfter, "kill-after", "k", "time between the signal and KILL (default min(5s, ttl/4))")
	flags.StringVar(&f.Signal, "signal", "TERM", "signal that tells the command to end")
	flags.StringVar(&f.OnLost, "on-lost", "kill", "what to do when the lock is lost: kill, or warn and go on")
	flags.Var(&f.MinHold, "min-hold", "keep the lock at least so long, also if the command ends sooner")
	flags.Var(&f.MaxHold, "max-hold", "stop the command after so long")
	flags.StringArrayVar(&f.Labels, "label", nil, "KEY=VALUE to show with the lock (repeatable)")
	flags.StringVar(&f.Owner, "owner", "", "who holds the lock, for people (default HOST:PID and more)")
	flags.BoolVar(&f.NoStdin, "no-stdin", false, "give the command no standard input")
	flags.BoolVar(&f.Foreground, "foreground", false, "leave the command in this process group")
	flags.BoolVar(&f.NoForeground, "no-foreground", false, "give the command a process group also on a terminal")
	flags.BoolVar(&f.NoGuard, "no-guard", false, "no keeper process: if this one is killed, what CMD started goes on")
	flags.StringVar(&f.StatusFile, "status-file", "", "write the outcome to this file, as JSON")
}

// Normalize maps the names that flock(1) and consul lock have to ours.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "nonblock", "nb":
		name = "no-wait"
	case "timeout":
		name = "wait"
	case "conflict-exit-code":
		name = "busy-exit-code"
	}
	return pflag.NormalizedName(name)
}

// ShellForm replaces an empty argv by that of -c.
// The login shell of the user runs the string, as flock(1) does: an empty one,
// too.
func (f *Flags) ShellForm(argv []string) ([]string, error) {
	if f.Shell == "" && (f.declared == nil || !f.declared.Changed("command")) {
		return argv, nil
	}
	if len(argv) > 0 {
		return nil, fmt.Errorf("-c and CMD %q: want one of them", argv[0])
	}
	return []string{cmp.Or(os.Getenv("SHELL"), "/bin/sh"), "-c", f.Shell}, nil
}

// Check refuses flags that are wrong, contradict each other, or ask for what
// no lock service of this program can do.
// It is asked before anything is opened, and needs no configuration.
func (f *Flags) Check(argv []string) error {
	switch {
	case len(argv) == 0:
		return errors.New("no CMD: want a command to run, or -c")
	case f.Shared && f.Exclusive:
		return errors.New("-s and -x: want one of them")
	case f.Shared:
		return errors.New("-s, --shared: not supported by this lock service: its locks have one holder")
	case f.Slots != 1:
		return fmt.Errorf("-N, --slots %d: not supported by this lock service: its locks have one holder", f.Slots)
	case f.NoWait && f.Wait.Value > 0:
		return errors.New("-n and -w: want one of them")
	case f.Foreground && f.NoForeground:
		return errors.New("--foreground and --no-foreground: want one of them")
	case f.MaxHold.Value > 0 && f.MinHold.Value > f.MaxHold.Value:
		return fmt.Errorf("--min-hold %s: must not be larger than --max-hold %s", f.MinHold.Value, f.MaxHold.Value)
	case f.OnLost != "kill" && f.OnLost != "warn":
		return fmt.Errorf("--on-lost %q: want kill or warn", f.OnLost)
	}
	return errors.Join(checkCode("--busy-exit-code", f.BusyCode), checkCode("--lost-exit-code", f.LostCode), f.checkLabels())
}

// checkCode refuses what the kernel would cut to eight bits.
func checkCode(name string, code int) error {
	if code < 0 || code > 255 {
		return fmt.Errorf("%s %d: must be between 0 and 255", name, code)
	}
	return nil
}

// checkLabels refuses a label without a key.
func (f *Flags) checkLabels() error {
	for _, label := range f.Labels {
		if key, _, ok := strings.Cut(label, "="); !ok || key == "" {
			return fmt.Errorf("--label %q: want KEY=VALUE", label)
		}
	}
	return nil
}

// Options are how the lock is acquired.
func (f *Flags) Options(ttl time.Duration, owner string) []fencehold.Option {
	opts := []fencehold.Option{fencehold.WithTTL(ttl)}
	switch {
	case f.NoWait:
		opts = append(opts, fencehold.WithMaxWait(0))
	case f.Wait.Given:
		opts = append(opts, fencehold.WithMaxWait(f.Wait.Value))
	}
	if f.MinHold.Value > 0 {
		opts = append(opts, fencehold.WithMinHold(f.MinHold.Value))
	}
	if owner != "" {
		opts = append(opts, fencehold.WithOwner(owner))
	}
	if len(f.Labels) > 0 {
		opts = append(opts, fencehold.WithLabels(labelMap(f.Labels)))
	}
	return opts
}

// labelMap lets the last of several values of a key count.
func labelMap(labels []string) map[string]string {
	m := map[string]string{}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		m[key] = value
	}
	return m
}

// OnTerminal reports whether the command is to stay in this process group.
func (f *Flags) OnTerminal() bool {
	switch {
	case f.Foreground:
		return true
	case f.NoForeground:
		return false
	}
	return process.OnTerminal()
}
