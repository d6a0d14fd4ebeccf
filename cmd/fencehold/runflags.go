//go:build unix

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/flagvalue"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"github.com/spf13/pflag"
)

// runFlags are the flags of "run" that are not settings of the configuration.
type runFlags struct {
	noWait       bool
	wait         flagvalue.Duration
	ttl          flagvalue.Duration
	killAfter    flagvalue.Duration
	minHold      flagvalue.Duration
	maxHold      flagvalue.Duration
	busyCode     int
	lostCode     int
	shared       bool
	exclusive    bool
	slots        int
	shell        string
	shellGiven   bool
	signal       string
	onLost       string
	labels       []string
	owner        string
	noStdin      bool
	foreground   bool
	noForeground bool
	noGuard      bool
	statusFile   string
}

// declare adds the flags to the set, with the names that flock(1), timeout(1)
// and consul lock have for them.
func (f *runFlags) declare(flags *pflag.FlagSet) {
	flags.SetInterspersed(false)
	flags.SetNormalizeFunc(normalizeRunFlag)
	flags.BoolVarP(&f.noWait, "no-wait", "n", false, "do not wait for the lock (also --nonblock, --nb)")
	flags.VarP(&f.wait, "wait", "w", "wait for the lock at most so long; 0 is -n (also --timeout)")
	flags.IntVarP(&f.busyCode, "busy-exit-code", "E", codeBusy, "exit code if the lock is not had (also --conflict-exit-code)")
	flags.IntVar(&f.lostCode, "lost-exit-code", codeLost, "exit code if the lock is lost")
	flags.BoolVarP(&f.shared, "shared", "s", false, "share the lock with other readers")
	flags.BoolVarP(&f.exclusive, "exclusive", "x", false, "share the lock with nobody (default)")
	flags.IntVarP(&f.slots, "slots", "N", 1, "number of holders at a time")
	flags.StringVarP(&f.shell, "command", "c", "", "run this string with $SHELL instead of CMD")
	flags.Var(&f.ttl, "ttl", "how long the lock outlives this machine (default 30s)")
	flags.VarP(&f.killAfter, "kill-after", "k", "time between the signal and KILL (default min(5s, ttl/4))")
	flags.StringVar(&f.signal, "signal", "TERM", "signal that tells the command to end")
	flags.StringVar(&f.onLost, "on-lost", "kill", "what to do when the lock is lost: kill, or warn and go on")
	flags.Var(&f.minHold, "min-hold", "keep the lock at least so long, also if the command ends sooner")
	flags.Var(&f.maxHold, "max-hold", "stop the command after so long")
	flags.StringArrayVar(&f.labels, "label", nil, "KEY=VALUE to show with the lock (repeatable)")
	flags.StringVar(&f.owner, "owner", "", "who holds the lock, for people (default HOST:PID and more)")
	flags.BoolVar(&f.noStdin, "no-stdin", false, "give the command no standard input")
	flags.BoolVar(&f.foreground, "foreground", false, "leave the command in this process group")
	flags.BoolVar(&f.noForeground, "no-foreground", false, "give the command a process group also on a terminal")
	flags.BoolVar(&f.noGuard, "no-guard", false, "no keeper process: if this one is killed, what CMD started goes on")
	flags.StringVar(&f.statusFile, "status-file", "", "write the outcome to this file, as JSON")
}

// normalizeRunFlag maps the names that flock(1) and consul lock have to ours.
func normalizeRunFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
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

// shellForm replaces an empty argv by that of -c.
func (f *runFlags) shellForm(argv []string) ([]string, error) {
	if f.shell == "" {
		return argv, nil
	}
	if len(argv) > 0 {
		return nil, fmt.Errorf("-c and CMD %q: want one of them", argv[0])
	}
	return []string{cmp.Or(os.Getenv("SHELL"), "/bin/sh"), "-c", f.shell}, nil
}

// check refuses flags that are wrong, contradict each other, or ask for what
// no lock service of this program can do.
func (f *runFlags) check(argv []string) error {
	switch {
	case len(argv) == 0:
		return errors.New("no CMD: want a command to run, or -c")
	case f.shared && f.exclusive:
		return errors.New("-s and -x: want one of them")
	case f.shared:
		return errors.New("-s, --shared: not supported by this lock service: its locks have one holder")
	case f.slots != 1:
		return fmt.Errorf("-N, --slots %d: not supported by this lock service: its locks have one holder", f.slots)
	case f.noWait && f.wait.Value > 0:
		return errors.New("-n and -w: want one of them")
	case f.foreground && f.noForeground:
		return errors.New("--foreground and --no-foreground: want one of them")
	case f.onLost != "kill" && f.onLost != "warn":
		return fmt.Errorf("--on-lost %q: want kill or warn", f.onLost)
	}
	return errors.Join(checkCode("--busy-exit-code", f.busyCode), checkCode("--lost-exit-code", f.lostCode), f.checkLabels())
}

// checkCode refuses what the kernel would cut to eight bits.
func checkCode(name string, code int) error {
	if code < 0 || code > 255 {
		return fmt.Errorf("%s %d: must be between 0 and 255", name, code)
	}
	return nil
}

// checkLabels refuses a label without a key.
func (f *runFlags) checkLabels() error {
	for _, label := range f.labels {
		if key, _, ok := strings.Cut(label, "="); !ok || key == "" {
			return fmt.Errorf("--label %q: want KEY=VALUE", label)
		}
	}
	return nil
}

// options are how the lock is acquired.
func (f *runFlags) options(ttl time.Duration, owner string) []fencehold.Option {
	opts := []fencehold.Option{fencehold.WithTTL(ttl)}
	switch {
	case f.noWait:
		opts = append(opts, fencehold.WithMaxWait(0))
	case f.wait.Given:
		opts = append(opts, fencehold.WithMaxWait(f.wait.Value))
	}
	if f.minHold.Value > 0 {
		opts = append(opts, fencehold.WithMinHold(f.minHold.Value))
	}
	if owner != "" {
		opts = append(opts, fencehold.WithOwner(owner))
	}
	if len(f.labels) > 0 {
		opts = append(opts, fencehold.WithLabels(labelMap(f.labels)))
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

// terminal reports whether the command is to stay in this process group.
func (f *runFlags) terminal() bool {
	switch {
	case f.foreground:
		return true
	case f.noForeground:
		return false
	}
	return process.OnTerminal()
}
