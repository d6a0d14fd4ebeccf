//go:build unix

// Package keeper is the process that stands between the wrapper and the
// command of "fencehold run".
//
// The keeper starts the command, and it alone can outlive the wrapper: when
// the wrapper is killed, or frozen for longer than the lease, the keeper ends
// the command with all that it started. It takes part in no other work, holds
// a copy of the descriptor that keeps the lock, and gives it up by exiting,
// which it does only after the command is gone.
package keeper

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"golang.org/x/sys/unix"
)

// Argument is the first argument of a process that is to be a keeper. The
// second one is the descriptor of its socket.
const Argument = "keep-command"

// pollEvery is how often a keeper looks whether processes that it cannot wait
// for are gone.
const pollEvery = 5 * time.Millisecond

// Main is the whole life of a keeper process, and returns its exit code.
func Main(args []string) int {
	if len(args) != 1 {
		return unusable("want one argument")
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return unusable(err.Error())
	}
	// The descriptor came through an exec, so it has lost this flag; the command
	// must not get it.
	unix.CloseOnExec(fd)
	// Before there is a command, so that no orphan can be missed.
	if err := process.Adopt(); err != nil {
		return unusable(err.Error())
	}
	// Only the wrapper has the other end: its end is the end of the wrapper.
	socket, err := newSocket(fd)
	if err != nil {
		return unusable(err.Error())
	}
	serve(socket, true)
	return 0
}

// unusable tells whoever called a keeper by hand that it is not for them.
func unusable(why string) int {
	_, _ = os.Stderr.WriteString("fencehold: " + Argument + " is for internal use: " + why + "\n")
	return 64
}

// A keeper is driven by one goroutine, which owns all of its state.
type keeper struct {
	socket   *socket
	own      bool // this process is a keeper and nothing else
	messages chan message
	changes  chan os.Signal
	alarm    *process.Alarm
	rings    <-chan struct{}
	poll     *time.Timer
	quit     chan struct{} // closed at the end
	forked   chan struct{} // closed once the command was started, or could not be

	command Command
	target  process.Target
	pid     int // of the command; 0 before it started
	ladder  ladder
	paused  time.Time // when the wrapper said that it stops itself; zero if it was continued
	looked  time.Time // when a stopped job was last looked after
	exited  bool      // the command was reaped
	orphan  bool      // the wrapper is gone
	done    bool
}

// serve keeps one command for the wrapper at the other end of the socket.
func serve(s *socket, own bool) {
	k := &keeper{
		socket: s, own: own, messages: make(chan message), changes: make(chan os.Signal, 1),
		poll: time.NewTimer(time.Hour), quit: make(chan struct{}), forked: make(chan struct{}),
	}
	k.poll.Stop()
	go k.listen()
	go k.watch()
	if own {
		go k.swallow()
	}
	for !k.done {
		k.turn()
	}
	// This ends the thread that forked the command, too, and with it what dies with
	// its parent: nobody is left by now whom that could hit.
	close(k.quit)
	signal.Stop(k.changes)
	if k.alarm != nil {
		k.alarm.Close()
	}
	// What was said last stays readable at the other end.
	_ = s.shut(unix.SHUT_RDWR)
}

// listen turns what the wrapper says into events, and its end into a closed
// channel.
func (k *keeper) listen() {
	defer close(k.messages)
	for {
		m, err := k.socket.receive()
		if err != nil {
			return
		}
		select {
		case k.messages <- m:
		case <-k.quit:
			return
		}
	}
}

// turn waits for one event and deals with it.
func (k *keeper) turn() {
	select {
	case m, ok := <-k.messages:
		if ok {
			k.handle(m)
		} else {
			// A closed channel is always ready, and would keep the others from their turn.
			k.messages = nil
			k.abandoned()
		}
	case <-k.changes:
	case <-k.rings:
	case <-k.poll.C:
	}
	// In this order: only who was reaped is known to have ended, and a command that
	// has ended by itself must not be reported as killed.
	k.reap()
	k.climb()
	k.look()
}

// handle deals with one message. Those about the command that come before it
// was started mean nothing.
func (k *keeper) handle(m message) {
	if m.kind == msgStart {
		k.start(m)
		return
	}
	if k.pid == 0 {
		return
	}
	switch m.kind {
	case msgDeadline:
		k.ladder.deadline = time.Duration(m.int(0))
	case msgSignal:
		k.forward(syscall.Signal(m.int(0)), time.Duration(m.int(1)))
	case msgStop:
		k.stop(syscall.Signal(m.int(0)), time.Duration(m.int(1)))
	case msgSuspend:
		k.suspend(syscall.Signal(m.int(0)))
	case msgResume:
		k.resume(m.int(0) != 0)
	}
}

// start executes the command. The descriptor that came with m stays open
// until this process exits.
func (k *keeper) start(m message) {
	c, err := decode(m.data)
	if err == nil {
		k.alarm, err = process.NewAlarm(c.Clock)
	}
	var pid int
	var before []process.Stat
	if err == nil {
		k.rings = k.alarm.C
		if !k.own && c.Foreign != 0 {
			// What this process had started when it was another program is not the command's.
			before = process.Existing()
		}
		pid, err = k.fork(c)
	}
	if err != nil {
		k.say(number(msgFailed, errno(err)))
		k.done = true
		return
	}
	// The command runs already. What the wrapper has said since then waits on the
	// socket, and finds the fields below filled in.
	k.command, k.pid = c, pid
	k.target = c.target(pid, before)
	k.ladder = ladder{deadline: c.Deadline, notice: c.Notice}
	k.say(number(msgStarted, int64(pid)))
	if k.own {
		letGo()
	}
}

// fork executes the command from a thread that lives as long as this keeper:
// the kernel kills the command when the thread that started it ends.
func (k *keeper) fork(c Command) (pid int, err error) {
	go func() {
		// Never unlocked: the thread ends with this goroutine, and not before.
		runtime.LockOSThread()
		// Both results are read after forked was closed, which orders them.
		pid, err = c.start()
		close(k.forked)
		<-k.quit
	}()
	<-k.forked
	return pid, err
}

// errno returns the number of a system error, EIO for any other.
func errno(err error) int64 {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return int64(e)
	}
	return int64(syscall.EIO)
}

// letGo closes the keeper's own standard input and output, so that the other
// ends of pipes learn when the command is finished with them.
func letGo() {
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for to := range 2 {
		replace(fd, to)
	}
	discard(fd)
}

// forward passes a signal on; with a positive grace the command is killed
// after it.
func (k *keeper) forward(sig syscall.Signal, grace time.Duration) {
	// The signal goes first: a grace that begins before it is shorter than promised.
	k.target.Signal(sig)
	if grace > 0 {
		k.wakeUp(sig)
		k.ladder.tell(k.command.Clock.Now(), grace)
	}
}

// stop ends the command: with sig and KILL after the grace, or at once.
func (k *keeper) stop(sig syscall.Signal, grace time.Duration) {
	if grace > 0 && !k.ladder.told {
		k.target.Signal(sig)
		k.wakeUp(sig)
	}
	k.ladder.tell(k.command.Clock.Now(), grace)
}

// wakeUp lets a command that is stopped act on sig.
// The signal is sent before: a command that was continued first could go on working
// for as long as it likes before it is told.
func (k *keeper) wakeUp(sig syscall.Signal) {
	if sig != unix.SIGKILL && sig != unix.SIGCONT {
		k.target.Signal(unix.SIGCONT)
	}
}

// abandoned ends the command because the wrapper ended without it.
func (k *keeper) abandoned() {
	k.orphan = true
	if k.pid == 0 {
		k.done = true
		return
	}
	// The lock may be free already, if its service noticed the end sooner than this
	// process: no grace.
	k.ladder.tell(k.command.Clock.Now(), 0)
}

// reap takes notice of children that ended: the command, and those of its
// descendants that lost their parents.
// Without a process of its own the keeper must leave the children of others alone
// until it has one itself.
func (k *keeper) reap() {
	if k.pid == 0 && !k.own {
		return
	}
	for _, c := range process.Reap() {
		// A descendant may get the number of the command once that was reaped.
		if c.PID == k.pid && !k.exited {
			k.exited = true
			k.say(number(msgExited, int64(c.Status)))
		}
	}
}

// climb takes the steps of the ladder that are due.
// It may be called at any time, and as often as one likes.
func (k *keeper) climb() {
	if k.pid == 0 {
		return
	}
	now := k.command.Clock.Now()
	step := k.ladder.due(now)
	if step != stepNone && k.ladder.overdue(now) {
		// The wrapper learns why before the command can end by it.
		k.say(number(msgOverdue))
	}
	switch step {
	case stepTell:
		k.target.Signal(k.command.Signal)
		k.wakeUp(k.command.Signal)
	case stepKill:
		k.say(number(msgKilled))
		k.target.Signal(unix.SIGKILL)
	}
	// The alarm is set on every turn: a new deadline may have come in between.
	if !k.done {
		k.alarm.Set(k.ladder.next())
	}
}

// look finds out whether the end has come, and hastens it: what the command
// leaves behind is told to end too.
// Gone is asked in the very turn in which the command was reaped: until then its
// number, which is that of the group, cannot have been given to somebody else.
func (k *keeper) look() {
	if k.done || k.pid == 0 {
		return
	}
	if !k.exited && !k.ladder.killed {
		k.nudge()
		return
	}
	if k.exited && k.target.Gone() {
		// Nobody can join the group any more: only a member could have brought one in.
		k.say(number(msgGone))
		k.done = true
		return
	}
	if k.ladder.killed {
		k.target.Signal(unix.SIGKILL)
	} else if !k.ladder.told {
		k.stop(unix.SIGTERM, k.command.Grace)
		k.alarm.Set(k.ladder.next())
	}
	// There is no event for the end of those who are not children of this process.
	k.poll.Reset(pollEvery)
}

// say tells the wrapper, as long as there is one. A wrapper that cannot be told
// is about to close its end.
// A wrapper that is frozen does not read, but the few messages of a run never fill
// the socket: the keeper cannot be held up by it.
func (k *keeper) say(m message) {
	if !k.orphan {
		_ = k.socket.send(m)
	}
}
