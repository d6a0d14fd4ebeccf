package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binary is the command as users have it: built without the race detector.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper())
	}
	dir, err := os.MkdirTemp("", "fencehold-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "fencehold")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	for _, name := range []string{"URL", "TTL", "CONFIG", "PROFILE", "OWNER", "KILL_AFTER", "STACK", "LOCK", "HOLDER"} {
		os.Unsetenv("FENCEHOLD_" + name)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestScripts runs the command lines of testdata. Each script has a directory
// of locks of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("FENCEHOLD_URL", "file://"+env.WorkDir+"/locks")
			env.Setenv("HOME", env.WorkDir)
			return os.Mkdir(filepath.Join(env.WorkDir, "locks"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a command and compares its exit code: exits CODE COMMAND ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if got := fmt.Sprint(code); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}
