//go:build unix

package keeper

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"golang.org/x/sys/unix"
)

// An Event is what a keeper reports.
type Event struct {
	// Kind says what happened.
	Kind EventKind
	// PID is the command's process, of Started.
	PID int
	// Errno is why it could not be executed, of Failed.
	Errno syscall.Errno
	// Status is how it ended, of Exited.
	Status syscall.WaitStatus
}

// EventKind says what happened to a command.
type EventKind int

// The events, in the order in which they can come. A keeper ends after Failed
// and after Gone; an end without them is a failure of the keeper.
const (
	Started EventKind = iota + 1
	Failed
	Overdue // the lease was about to end, and the command was told
	Killed  // the command was killed
	Exited  // the command itself ended
	Gone    // nobody that belongs to the command is left
)

// A Keeper is the wrapper's side of a keeper process. Its methods are called
// from one goroutine.
type Keeper struct {
	// Events is closed when the keeper has ended.
	Events <-chan Event

	socket *socket
	pid    int
}

// Spawn starts a keeper process that waits for a command.
func Spawn() (*Keeper, error) {
	self, err := process.Self()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer discard(theirs)
	inherited, err := inheritable(theirs)
	if err != nil {
		discard(ours)
		return nil, err
	}
	defer discard(inherited)
	// The keeper needs no environment, and starts faster without looking for
	// the time zone. That of the command comes with it.
	pid, err := syscall.ForkExec(self, []string{"fencehold", Argument, strconv.Itoa(inherited)}, &syscall.ProcAttr{
		Env: []string{"TZ=UTC"}, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		discard(ours)
		return nil, fmt.Errorf("start of the keeper process: %w", err)
	}
	return newKeeper(ours, pid)
}

// Inside returns a keeper that lives in this process: it does all that a
// keeper does as long as this process does.
// The messages are the same, so nothing else has to know which of them it is.
func Inside() (*Keeper, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	socket, err := newSocket(theirs)
	if err != nil {
		return nil, err
	}
	go serve(socket, false)
	return newKeeper(ours, 0)
}

// newKeeper is the wrapper's side of the keeper at the other end of fd.
// The socket of a keeper that has ended already is readable, and says so.
func newKeeper(fd, pid int) (*Keeper, error) {
	socket, err := newSocket(fd)
	if err != nil {
		return nil, err
	}
	events := make(chan Event)
	k := &Keeper{Events: events, socket: socket, pid: pid}
	go k.listen(events)
	return k, nil
}

// pair makes the socket. Both ends are close-on-exec.
func pair() (ours, theirs int, err error) {
	// Where the flag cannot be set by the same call, no fork may come in between.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, 0, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// discard closes a descriptor through which nothing was written.
func discard(fd int) { _ = unix.Close(fd) }

// inheritable copies fd to a high number that survives exec. Nothing but the
// keeper is started by the wrapper, so nobody else can inherit it.
func inheritable(fd int) (int, error) {
	for _, from := range []int{highest, 3} {
		// A low limit for descriptors refuses the high number. Then any one must do that
		// is free.
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, from)
		if err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("no file descriptor left for the keeper process")
}

// listen turns what the keeper says into events. They are not dropped: their
// last one says that the lock may be released.
func (k *Keeper) listen(events chan<- Event) {
	defer close(events)
	for {
		m, err := k.socket.receive()
		if err != nil {
			return
		}
		if e, ok := event(m); ok {
			// The run reads until the channel is closed, or gives up on the keeper and ends.
			events <- e
		}
	}
}

// event reads a message of a keeper. One that is not known is left out.
func event(m message) (Event, bool) {
	switch m.kind {
	case msgStarted:
		return Event{Kind: Started, PID: int(m.int(0))}, true
	case msgFailed:
		return Event{Kind: Failed, Errno: syscall.Errno(m.int(0))}, true
	case msgOverdue:
		return Event{Kind: Overdue}, true
	case msgKilled:
		return Event{Kind: Killed}, true
	case msgExited:
		return Event{Kind: Exited, Status: syscall.WaitStatus(m.int(0))}, true
	case msgGone:
		return Event{Kind: Gone}, true
	}
	return Event{}, false
}

// PID is the keeper's process, 0 if it lives in this one.
func (k *Keeper) PID() int { return k.pid }

// Start lets the keeper execute c. lock, if not nil, is the descriptor that
// keeps the lock.
func (k *Keeper) Start(c Command, lock *os.File) error {
	m := message{kind: msgStart, data: c.encode(), file: -1}
	if lock != nil {
		m.file = int(lock.Fd())
	}
	return k.socket.send(m)
}

// Deadline tells that the lease ends at the time at of the command's clock.
func (k *Keeper) Deadline(at time.Duration) {
	k.tell(number(msgDeadline, int64(at)))
}

// Signal passes sig on to the command. With a positive grace, the command is
// killed after it.
func (k *Keeper) Signal(sig syscall.Signal, grace time.Duration) {
	k.tell(number(msgSignal, int64(sig), int64(grace)))
}

// Stop ends the command: with sig, and KILL after the grace; without a grace,
// by KILL at once.
func (k *Keeper) Stop(sig syscall.Signal, grace time.Duration) {
	k.tell(number(msgStop, int64(sig), int64(grace)))
}

// Suspend tells that this process is about to stop itself. A sig that is not
// 0 goes to the command before.
func (k *Keeper) Suspend(sig syscall.Signal) {
	k.tell(number(msgSuspend, int64(sig)))
}

// Resume tells that this process was continued and still has the lock. With
// always, the command is continued; otherwise only if it is seen stopped.
func (k *Keeper) Resume(always bool) { k.tell(number(msgResume, truth(always))) }

// Dismiss tells a keeper that no command will come, or that it is not needed
// any more. One whose command is alive kills it.
func (k *Keeper) Dismiss() { _ = k.socket.shut(unix.SHUT_WR) }

// tell sends what needs no answer. A keeper that does not get it has ended or is
// about to, which the end of Events says at the right place in the order of
// what it did before; an error here would come out of turn.
// A keeper that is frozen until the socket is full does not hold up this process,
// which is the only one left to act: it finds out by the answer that is missing.
func (k *Keeper) tell(m message) { k.socket.offer(m) }
