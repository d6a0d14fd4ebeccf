//go:build !unix

// Command fencehold runs commands under a lock, and looks after locks. It is
// for Linux and macOS: process groups, job control and a keeper that shares a
// descriptor with its wrapper are what its promises rest on, and this system
// has none of them. The library works here.
package main

import (
	"fmt"
	"os"
	"runtime"
)

// main says why it does nothing, with the exit code of an internal error.
func main() {
	fmt.Fprintf(os.Stderr, "fencehold: the command is for Linux and macOS, and does not run on %s\n", runtime.GOOS)
	os.Exit(70)
}
