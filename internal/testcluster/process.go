package testcluster

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a program that was started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// spawn starts a program that appends its output to the file log.
func spawn(log, program string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = bound()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	return p, <-started
}

// run starts the program and stays until it ends.
func (p *process) run(started chan<- error) {
	// The kernel binds a child to the thread that started it, not to the
	// process: this thread must not end before the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait()
	}
}

// pid returns the process id.
func (p *process) pid() int { return p.cmd.Process.Pid }

// ended tells whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process, and its children, in the hardest way, and waits for
// it. One that has ended stays so.
func (p *process) kill() {
	if !p.ended() {
		killAll(p.cmd.Process)
	}
	<-p.done
}
