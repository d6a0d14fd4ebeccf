//go:build unix

package keeper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// A Command is what the keeper starts and ends.
type Command struct {
	// Path is the file to execute, Args the arguments with the command's
	// name, Env the environment.
	Path string
	Args []string
	Env  []string
	// Foreign is the process group that the command joins; 0 gives it one of
	// its own.
	Foreign int
	// NoStdin connects standard input to /dev/null.
	NoStdin bool
	// Clock is what Deadline is read on.
	Clock process.Clock
	// Deadline is when the lease ends; 0 if the keeper is not to care.
	Deadline time.Duration
	// Notice is how long before the deadline the command is told.
	Notice time.Duration
	// Grace is how long the command has between Signal and KILL.
	Grace time.Duration
	// Signal tells the command to end.
	Signal syscall.Signal
	// Pinned says that the lock outlasts the deadline while the wrapper is
	// stopped on purpose.
	Pinned bool
}

// encode writes c as strings that each end in NUL, which none of them holds.
// Both ends are the same program, so there is no version in it.
func (c Command) encode() []byte {
	var b strings.Builder
	put := func(s string) { b.WriteString(s); b.WriteByte(0) }
	for _, n := range c.numbers() {
		put(strconv.FormatInt(n, 10))
	}
	put(strconv.Itoa(len(c.Args)))
	put(c.Path)
	for _, s := range c.Args {
		put(s)
	}
	for _, s := range c.Env {
		put(s)
	}
	return []byte(b.String())
}

// numbers lists the fields that are numbers, in the order of the message.
func (c Command) numbers() []int64 {
	return []int64{
		int64(c.Foreign), truth(c.NoStdin), int64(c.Clock), int64(c.Deadline), int64(c.Notice),
		int64(c.Grace), int64(c.Signal), truth(c.Pinned),
	}
}

// truth is 1 for true.
func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// decode reads what encode wrote.
func decode(data []byte) (Command, error) {
	var c Command
	parts := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	count := len(c.numbers())
	if len(parts) < count+2 {
		return c, fmt.Errorf("start message of %d strings is too short", len(parts))
	}
	numbers := make([]int64, count+1)
	for i := range numbers {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return c, fmt.Errorf("start message: %w", err)
		}
		numbers[i] = n
	}
	args := parts[count+2:]
	if n := numbers[count]; n < 1 || n > int64(len(args)) {
		return c, fmt.Errorf("start message: %d arguments in %d strings", n, len(args))
	}
	return Command{
		Foreign: int(numbers[0]), NoStdin: numbers[1] != 0, Clock: process.Clock(numbers[2]),
		Deadline: time.Duration(numbers[3]), Notice: time.Duration(numbers[4]), Grace: time.Duration(numbers[5]),
		Signal: syscall.Signal(numbers[6]), Pinned: numbers[7] != 0,
		Path: parts[count+1], Args: args[:numbers[count]], Env: args[numbers[count]:],
	}, nil
}

// start executes the command and returns the number of its process.
func (c Command) start() (int, error) {
	stdin := uintptr(0)
	if c.NoStdin {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer discard(fd)
		stdin = uintptr(fd)
	}
	sys := &syscall.SysProcAttr{Setpgid: true, Pgid: c.Foreign}
	// The third line of defence, for the command alone: the other two are the socket
	// and the wrapper.
	process.DieWithParent(sys)
	attr := &syscall.ProcAttr{Env: c.Env, Files: []uintptr{stdin, 1, 2}, Sys: sys}
	pid, err := syscall.ForkExec(c.Path, c.Args, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without "#!" is run by the shell, as execvp does.
		args := append([]string{"sh", c.Path}, c.Args[1:]...)
		pid, err = syscall.ForkExec("/bin/sh", args, attr)
	}
	return pid, err
}

// target is whom signals for the command go to.
// On a terminal the group belongs to the shell around this run as well, and no signal
// may go to all of it.
func (c Command) target(pid int, except []process.Stat) process.Target {
	if c.Foreign != 0 {
		return process.Descendants{Except: except}
	}
	return process.Group(pid)
}
