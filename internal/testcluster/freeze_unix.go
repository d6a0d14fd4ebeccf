//go:build unix && !linux

package testcluster

import (
	"os"
	"syscall"
)

// freeze stops the process.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// thaw lets a frozen process go on.
func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
