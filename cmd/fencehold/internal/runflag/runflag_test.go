package runflag_test

import (
	"strings"
	"testing"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/runflag"
	"github.com/spf13/pflag"
)

// parse reads flags as "run" does.
func parse(t *testing.T, args ...string) *runflag.Flags {
	t.Helper()
	f := &runflag.Flags{}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Declare(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCheck: what cannot be meant is refused, with the flags that are to blame.
func TestCheck(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                             "",
		"-n":                           "",
		"-w 0 -n":                      "",
		"-x":                           "",
		"--slots 1":                    "",
		"--min-hold 1m --max-hold 1m":  "",
		"--min-hold 1m":                "",
		"--min-hold 61 --max-hold 1m":  "--min-hold 1m1s: must not be larger than --max-hold 1m0s",
		"-n -w 1":                      "-n and -w",
		"-s -x":                        "-s and -x",
		"-s":                           "--shared: not supported",
		"-N 2":                         "--slots 2: not supported",
		"--on-lost ignore":             `--on-lost "ignore": want kill or warn`,
		"--label =v":                   `--label "=v"`,
		"--foreground --no-foreground": "want one of them",
		"--lost-exit-code -1":          "--lost-exit-code -1: must be between",
		"--conflict-exit-code 256":     "--busy-exit-code 256: must be between",
	} {
		err := parse(t, strings.Fields(line)...).Check([]string{"true"})
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", line, err, want)
		}
	}
	if err := parse(t).Check(nil); err == nil || !strings.Contains(err.Error(), "no CMD") {
		t.Errorf("no command: error %v", err)
	}
}

// TestOtherNames: the names of flock(1) and consul lock mean what they mean there.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	f := parse(t, "--timeout", "3", "--conflict-exit-code", "9", "--nb=false")
	if f.Wait.String() != "3s" || f.BusyCode != 9 || f.NoWait {
		t.Errorf("wait %s, code %d, no wait %t, want 3s, 9 and false", f.Wait.String(), f.BusyCode, f.NoWait)
	}
	if f := parse(t, "--nonblock"); !f.NoWait {
		t.Error("--nonblock waits")
	}
}

// TestTTLHelp: the help promises no more than is kept: a lock that is tied to a
// process does not run out.
func TestTTLHelp(t *testing.T) {
	t.Parallel()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	new(runflag.Flags).Declare(set)
	help := strings.Join(strings.Fields(set.FlagUsages()), " ")
	const want = "how long fencehold may be silent before its command is stopped and, " +
		"where locks run out by time, the lock is lost"
	if !strings.Contains(help, want) {
		t.Errorf("help %q, want %q in it", help, want)
	}
}

func TestShellForm(t *testing.T) {
	t.Setenv("SHELL", "/bin/other")
	argv, err := parse(t, "-c", "a | b").ShellForm(nil)
	if got := strings.Join(argv, " "); err != nil || got != "/bin/other -c a | b" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := parse(t, "-c", "a").ShellForm([]string{"b"}); err == nil {
		t.Error("-c and a command are both taken")
	}
	if argv, err := parse(t, "-c", "").ShellForm(nil); err != nil || len(argv) != 3 || argv[2] != "" {
		t.Errorf("an empty string: %q, %v, want a shell that runs it", argv, err)
	}
	if argv, err := parse(t).ShellForm([]string{"b"}); err != nil || len(argv) != 1 {
		t.Errorf("%q, %v, want the command as it is", argv, err)
	}
}
