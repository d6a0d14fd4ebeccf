//go:build unix

package guarded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/keeper"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
	"golang.org/x/sys/unix"
)

// errKeeper is the end of a keeper that has not done its work.
var errKeeper = errors.New("keeper process ended unexpectedly")

// run is one run. Its fields belong to the goroutine that called Run, except
// for the channels.
type run struct {
	spec    Spec
	signals chan os.Signal
	caught  chan struct{} // closed once signals arrive
	granted chan grant
	renewed chan struct{}
	tooLong <-chan time.Time
	silence <-chan time.Time // when the keeper has been silent for too long, nil if it need not answer
	keeper  *keeper.Keeper
	events  <-chan keeper.Event // nil once closed

	client *fencehold.Client
	lease  *fencehold.Lease
	clock  process.Clock
	asleep time.Duration // time that the machine was suspended, when last looked at
	since  time.Time
	lost   <-chan struct{} // nil once the loss was dealt with
	pid    int             // of the command
	// verdict is the outcome of a command that is being stopped.
	verdict    Outcome
	keeperLost bool
	woken      bool           // a silent keeper was continued
	before     []process.Stat // children of the program in whose place this one was executed
	result     Result
}

// Run acquires the lock, runs the command and releases the lock. It may be
// called once in a process: it takes over the process's signals and children.
func Run(ctx context.Context, spec Spec) Result {
	spec.Notices = spec.Notices.Background()
	r := &run{
		spec: spec, signals: make(chan os.Signal, 64), caught: make(chan struct{}),
		granted: make(chan grant, 1), renewed: make(chan struct{}, 1),
	}
	if err := r.spawn(); err != nil {
		return Result{Outcome: Failed, Err: err}
	}
	r.asleep = suspended()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The acquisition starts before signals are caught, and stops to wait for that
	// before it asks for the lock: catching takes as long as opening does.
	go r.acquire(ctx)
	catch(r.signals, deadly())
	surviveBrokenPipes()
	close(r.caught)
	if spec.Terminal {
		r.remember()
	}
	r.wait(cancel)
	if r.result.Outcome == "" {
		r.start() //nolint:contextcheck // a lease reports its loss under no context
	}
	// Whatever sets the outcome has seen to it that the command is gone, or never
	// was: so the lock is released after this loop, and nowhere in it.
	for r.result.Outcome == "" {
		r.turn() //nolint:contextcheck // a lease reports its loss under no context
	}
	r.finish() //nolint:contextcheck // a release must not end with what it cleans up after
	return r.result
}

// spawn makes sure that there is a keeper, and that what a keeper may leave
// behind comes to this process.
func (r *run) spawn() (err error) {
	if err = process.Adopt(); err != nil {
		return err
	}
	switch {
	case r.spec.NoKeeper:
		if r.spec.Keeper != nil {
			r.spec.Keeper.Dismiss()
		}
		r.keeper, err = keeper.Inside()
	case r.spec.Keeper != nil:
		r.keeper = r.spec.Keeper
	default:
		r.keeper, err = keeper.Spawn()
	}
	if err == nil {
		r.events = r.keeper.Events
	}
	return err
}

// wait returns with a lease, or with the outcome of a run that will not start
// its command.
// Until it returns, signals end the wait and are not passed on: there is nobody to
// pass them to.
func (r *run) wait(cancel func()) {
	for {
		select {
		// An acquisition that was cancelled still reports here, with a lease if the
		// grant was faster: so no lock is left behind by a signal.
		case g := <-r.granted:
			r.take(g)
			return
		case sig := <-r.signals:
			r.signalWaiting(sig, cancel)
		case _, ok := <-r.events:
			if !ok {
				r.events = nil
				r.fail(Result{Outcome: Failed, Err: errKeeper})
				// The acquisition is awaited all the same, for the lock that it may bring.
				cancel()
			}
		}
	}
}

// signalWaiting deals with a signal while there is no command to pass it to.
func (r *run) signalWaiting(sig os.Signal, cancel func()) {
	if ends(sig) {
		r.fail(Result{Outcome: Interrupted, Signal: number(sig)})
		cancel()
	}
}

// take takes over what acquire has to hand on.
func (r *run) take(g grant) {
	r.client, r.lease, r.result.Wait = g.client, g.lease, g.wait
	if g.err != nil {
		r.fail(Result{Outcome: NotAcquired, Err: g.err})
		return
	}
	// From here on the lock is held, and every way out leads through finish.
	r.since = time.Now()
	r.clock = clockOf(r.lease)
	r.lost = r.lease.Done()
	r.result.Token = r.lease.Token()
	// A signal may have come together with the grant: it counts as earlier.
	for r.result.Outcome == "" && len(r.signals) > 0 {
		r.signalWaiting(<-r.signals, func() {})
	}
}

// fail sets the outcome of the run, unless there is one.
// The first of several failures is the cause of the others.
func (r *run) fail(how Result) {
	if r.result.Outcome != "" {
		return
	}
	r.result.Outcome, r.result.Signal, r.result.Err = how.Outcome, how.Signal, how.Err
}

// start hands the command and the lock's descriptor to the keeper.
func (r *run) start() {
	var lock *os.File
	if !r.spec.NoKeeper {
		// The copy goes with the start message, in one call: there is no moment at
		// which the keeper has the command and not the lock.
		file, err := r.lease.File()
		switch {
		case err == nil:
			lock = file
			defer file.Close()
		case !errors.Is(err, errors.ErrUnsupported):
			r.fail(Result{Outcome: NotAcquired, Err: err})
			return
		}
	}
	// On a terminal the command may be stopped together with this process as
	// soon as it runs. Elsewhere it need not wait for this.
	if r.spec.Terminal {
		catch(r.signals, harmless())
	}
	if err := r.keeper.Start(r.command(), lock); err != nil {
		r.fail(Result{Outcome: Failed, Err: fmt.Errorf("%w: %w", errKeeper, err)})
		return
	}
	if !r.spec.Terminal {
		catch(r.signals, harmless())
	}
	if r.spec.MaxHold > 0 {
		// It counts from the start of the command, not from the grant: a slow start
		// must not shorten what the command was promised.
		r.tooLong = time.After(r.spec.MaxHold)
	}
	r.spec.Notices.Info("lock %q acquired after %s, token %s", r.spec.Lock,
		r.result.Wait.Round(time.Millisecond), r.lease.Token())
}

// command describes the command to the keeper. The notice that it gets before
// the lease ends is never more than a quarter of the lease: a longer grace must
// not stop a command whose lease is in order.
func (r *run) command() keeper.Command {
	c := keeper.Command{
		Path: r.spec.Path, Args: r.spec.Args, Env: environ(r.spec.Env, r.lease, r.client.Info().URL),
		NoStdin: r.spec.NoStdin, Clock: r.clock, Grace: r.spec.Grace, Signal: r.spec.Signal,
		Pinned: r.lease.Pinned(), Notice: min(r.spec.Grace, r.lease.TTL()/4),
	}
	if r.spec.Terminal {
		c.Foreign = unix.Getpgrp()
	}
	if !r.spec.WarnOnly {
		c.Deadline = r.deadline()
	}
	return c
}

// turn waits for one event of the time in which the command runs.
// All sources of events are channels, so that none can be served while another
// is: what a case does is done before the next event is looked at.
func (r *run) turn() {
	select {
	case sig := <-r.signals:
		r.signalRunning(sig)
	case e, ok := <-r.events:
		if ok {
			r.hear(e)
		} else {
			r.events = nil
			r.widowed()
		}
	case <-r.renewed:
		r.renew()
	// A select takes any of the cases that are ready. If the command has ended in
	// the same moment, either is right: see what conclude and release make of it.
	case <-r.lost:
		r.lost = nil
		r.lose(r.lease.Err())
	case <-r.silence:
		r.wake()
	case <-r.tooLong:
		r.tooLong = nil
		r.end(TooLong, fmt.Errorf("held for the %s of --max-hold", r.spec.MaxHold))
	}
}

// signalRunning passes a signal on. TERM alone says that the command shall end,
// so it alone starts the time after which it is killed; the others may mean
// anything to it, such as to read its configuration again.
func (r *run) signalRunning(sig os.Signal) {
	switch {
	case sig == unix.SIGCHLD:
		r.reap()
	case pauses(sig):
		r.suspend(number(sig))
	case sig == unix.SIGCONT:
		r.resume()
	// Passed on, the command would get it twice.
	case r.spec.Terminal && fromTerminal(sig):
	case sig == unix.SIGTERM:
		r.keeper.Signal(unix.SIGTERM, r.spec.Grace)
		r.await()
	default:
		r.keeper.Signal(number(sig), 0)
	}
}

// suspend stops the command, which in the foreground of a terminal has been
// stopped already, and then this process.
func (r *run) suspend(sig unix.Signal) {
	if r.spec.Terminal {
		sig = 0
	}
	// The keeper hears of it first: afterwards nobody is here to tell it.
	r.keeper.Suspend(sig)
	pause()
}

// resume continues the command only if the lock is still held.
func (r *run) resume() {
	if !r.spec.WarnOnly && !r.lease.Valid() {
		// First of all KILL: it must find the command still stopped.
		r.keeper.Stop(unix.SIGKILL, 0)
		r.lost = nil
		r.end(Lost, lossOf(r.lease))
		return
	}
	// The deadline travels ahead of the order to continue, on the same socket: the
	// keeper must not measure the command by one from before the stop.
	r.renew()
	r.keeper.Resume(!r.spec.Terminal)
}

// lossOf says why a lease that is not valid is not.
func lossOf(lease *fencehold.Lease) error {
	if err := lease.Err(); err != nil {
		return err
	}
	return errors.New("the clock was set forward past the end of the lease")
}

// renew tells the keeper how long the lock is certain now.
// Deadlines may arrive late at the keeper but never out of order, and an older one
// is always earlier: the worst is that it waits for less than it could.
func (r *run) renew() {
	if !r.spec.WarnOnly {
		r.keeper.Deadline(r.deadline())
	}
}

// hear deals with what the keeper says.
// Overdue may come when the lease is in order again, if this process was frozen
// and thawed in between: the command was told to end and will, so it is a loss.
func (r *run) hear(e keeper.Event) {
	switch e.Kind {
	case keeper.Started:
		r.pid = e.PID
	case keeper.Failed:
		r.fail(Result{Outcome: NotStarted, Err: e.Errno})
	case keeper.Overdue:
		r.end(Lost, errors.New("not renewed in time"))
	case keeper.Killed:
		// It is awake, and waits for whom not even KILL ends at once.
		r.silence, r.woken = nil, false
		r.spec.Notices.Info("command killed")
	case keeper.Exited:
		// What the command has left behind gets one more grace at most.
		r.silence, r.woken = nil, false
		r.await()
		r.result.Ran, r.result.Status = true, e.Status
	case keeper.Gone:
		r.conclude()
	}
}
