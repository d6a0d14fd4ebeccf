package testcluster

import (
	"errors"
	"syscall"
	"time"
)

// PID returns the id of the present process, or of the last one.
func (r *Redis) PID() int { return r.process().pid() }

// Kill ends the server as a crash would (SIGKILL) and waits for its end.
func (r *Redis) Kill() { r.process().kill() }

// Stop ends the server in order (SIGTERM): it writes what it keeps. Stop waits
// for its end.
func (r *Redis) Stop() {
	r.tb.Helper()
	p := r.process()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.fatalf("stop: %v", err)
	}
	select {
	case <-p.done:
	case <-time.After(startLimit):
		r.fatalf("stop: still running after %v", startLimit)
	}
}

// Start starts a server again that was killed or stopped, with the same port,
// directory and configuration, and returns when it answers.
func (r *Redis) Start() {
	r.tb.Helper()
	err := errors.New("it runs")
	if r.process().ended() {
		err = r.start()
	}
	if err != nil {
		r.fatalf("start again: %v", err)
	}
}

// Restart is [Redis.Kill] and [Redis.Start].
func (r *Redis) Restart() {
	r.tb.Helper()
	r.Kill()
	r.Start()
}

// Pause freezes the server (SIGSTOP): its connections stay, and nothing is
// answered. When Pause returns, the server does nothing any more.
func (r *Redis) Pause() {
	r.tb.Helper()
	if err := freeze(r.process().cmd.Process); err != nil {
		r.fatalf("pause: %v", err)
	}
}

// Resume undoes [Redis.Pause] (SIGCONT).
func (r *Redis) Resume() {
	r.tb.Helper()
	if err := thaw(r.process().cmd.Process); err != nil {
		r.fatalf("resume: %v", err)
	}
}
