//go:build unix

// Command fencehold runs commands under a lock, and looks after locks.
//
// "fencehold help" lists what it can do. Its exit codes are those of
// "fencehold help exit-codes".
package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/keeper"
)

// main is one of two programs: what the user called, or the keeper of a run.
func main() {
	if len(os.Args) > 1 && os.Args[1] == keeper.Argument {
		os.Exit(keeper.Main(os.Args[2:]))
	}
	// Nothing is read before this, neither the environment nor a file: the keeper
	// owes its start within milliseconds to that.
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	if len(os.Args) > 1 && os.Args[1] == "run" && !slices.ContainsFunc(os.Args, guardless) {
		// The keeper takes as long to start as everything else before the
		// command, so it starts first. One that is not needed ends with this
		// process. Whoever needs it tries again, and reports the error.
		a.keeper, _ = keeper.Spawn()
	}
	os.Exit(a.run(context.Background(), os.Args[1:]))
}

// guardless reports whether arg may ask for a run without a keeper. Where it
// means something else, the keeper is only started a little later.
func guardless(arg string) bool { return strings.HasPrefix(arg, "--no-guard") }
