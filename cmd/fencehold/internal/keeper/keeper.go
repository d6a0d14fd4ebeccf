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

// readyAfter is how long a keeper without a command puts off what costs time.
const readyAfter = 20 * time.Millisecond

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
	unix.CloseOnExec(fd)
	if err := process.Adopt(); err != nil {
		return unusable(err.Error())
	}
	socket, err := newSocket(fd)
	if err != nil {
		return unusable(err.Error())
	}
	serve(socket, true)
	return 0
}

// unusable tells whoever called a keeper by hand that it is not for them.
func unusable(why string) int {
	os.Stderr.WriteString("fencehold: " + Argument + " is for internal use: " + why + "\n")
	return 64
}

// swallow keeps signals to all processes of a service or a terminal from
// ending the keeper before the command. They are caught, not ignored: what is
// ignored here would be ignored in the command. What was ignored when the
// process began stays so.
func (k *keeper) swallow() {
	k.notBeforeFork()
	drain := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{
		unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
	} {
		if !signal.Ignored(sig) {
			signal.Notify(drain, sig)
		}
	}
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
	close(k.quit)
	signal.Stop(k.changes)
	if k.alarm != nil {
		k.alarm.Close()
	}
	s.shut(unix.SHUT_RDWR)
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

// notBeforeFork waits until the command runs, or is not to be expected soon:
// catching signals takes milliseconds, for which the command need not wait.
func (k *keeper) notBeforeFork() {
	select {
	case <-k.forked:
	case <-k.quit:
	case <-time.After(readyAfter):
	}
}

// watch lets the ends of children wake the keeper. The command may have ended
// before it begins: so it wakes the keeper once itself.
func (k *keeper) watch() {
	k.notBeforeFork()
	signal.Notify(k.changes, unix.SIGCHLD)
	select {
	case k.changes <- unix.SIGCHLD:
	default:
	}
}

// turn waits for one event and deals with it.
func (k *keeper) turn() {
	select {
	case m, ok := <-k.messages:
		if ok {
			k.handle(m)
		} else {
			k.messages = nil
			k.abandoned()
		}
	case <-k.changes:
	case <-k.rings:
	case <-k.poll.C:
	}
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
	if err == nil {
		k.rings = k.alarm.C
		pid, err = k.fork(c)
	}
	if err != nil {
		k.say(number(msgFailed, errno(err)))
		k.done = true
		return
	}
	k.command, k.pid = c, pid
	k.target = c.target(pid, 0)
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
		runtime.LockOSThread()
		pid, err = c.start()
		close(k.forked)
		<-k.quit
	}()
	<-k.forked
	return pid, err
}

// errno returns the number of a system error, EIO for any other.
func errno(err error) int64 {
	if e, ok := err.(syscall.Errno); ok {
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
	unix.Close(fd)
}

// forward passes a signal on; with a positive grace the command is killed
// after it.
func (k *keeper) forward(sig syscall.Signal, grace time.Duration) {
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
	k.ladder.tell(k.command.Clock.Now(), 0)
}

// reap takes notice of children that ended: the command, and those of its
// descendants that lost their parents.
func (k *keeper) reap() {
	if k.pid == 0 && !k.own {
		return
	}
	for _, c := range process.Reap() {
		if c.PID == k.pid && !k.exited {
			k.exited = true
			k.say(number(msgExited, int64(c.Status)))
		}
	}
}

// climb takes the steps of the ladder that are due.
func (k *keeper) climb() {
	if k.pid == 0 {
		return
	}
	now := k.command.Clock.Now()
	step := k.ladder.due(now)
	if step != stepNone && k.ladder.overdue(now) {
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
	if !k.done {
		k.alarm.Set(k.ladder.next())
	}
}

// look finds out whether the end has come, and hastens it: what the command
// leaves behind is told to end too.
func (k *keeper) look() {
	if k.done || k.pid == 0 {
		return
	}
	if !k.exited && !k.ladder.killed {
		k.nudge()
		return
	}
	if k.exited && k.target.Gone() {
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
	k.poll.Reset(pollEvery)
}

// say tells the wrapper, as long as there is one. A wrapper that cannot be told
// is about to close its end.
func (k *keeper) say(m message) {
	if !k.orphan {
		k.socket.send(m)
	}
}
