//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

// Adopt does nothing: there are no subreapers here.
func Adopt() error { return nil }

// DieWithParent does nothing: there is no such signal here.
func DieWithParent(*syscall.SysProcAttr) {}

// Self is the path of the program that this process runs.
func Self() (string, error) { return os.Executable() }
