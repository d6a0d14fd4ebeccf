package testcluster

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// bound makes a child die with the thread that starts it, and lead a group so
// that its own children can be killed with it.
func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killAll kills the process and its children.
func killAll(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// freeze stops the process and returns when it does nothing any more.
func freeze(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return await(startLimit, pollEvery, func() error { return stopped(p.Pid) })
}

// stopped returns nil if the kernel says that the process is stopped.
func stopped(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return final{err}
	}
	// The state follows the name of the program, which is in parentheses.
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	if !bytes.HasPrefix(rest, []byte("T")) {
		return fmt.Errorf("process %d still runs", pid)
	}
	return nil
}

// thaw lets a frozen process go on.
func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
