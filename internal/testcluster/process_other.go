//go:build !linux

package testcluster

import (
	"os"
	"syscall"
)

// bound has no means here to bind a child to its parent.
func bound() *syscall.SysProcAttr { return nil }

// killAll kills the process.
func killAll(p *os.Process) { _ = p.Kill() }
