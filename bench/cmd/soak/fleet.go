//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// stopLimit is how long clients may take to end in order.
const stopLimit = 15 * time.Second

// fleet is the client processes.
type fleet struct {
	tb      testcluster.TB
	url     string
	books   *ledger
	started int
	running []*process
}

// process is one client.
type process struct {
	id    int
	cmd   *exec.Cmd
	input io.Closer     // closed to end it in order
	done  chan struct{} // closed when it has ended and all it said is recorded
	err   error         // how it ended; read it after done
}

func newFleet(tb testcluster.TB, url string, books *ledger) *fleet {
	f := &fleet{tb: tb, url: url, books: books}
	tb.Cleanup(f.killAll)
	return f
}

// start starts one more client.
func (f *fleet) start() {
	program, err := os.Executable()
	if err != nil {
		f.tb.Fatalf("find this program: %v", err)
	}
	p := &process{id: f.started, cmd: exec.Command(program), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), clientVariable+"="+f.url)
	p.cmd.Stderr = os.Stderr
	output, err := p.cmd.StdoutPipe()
	if err == nil {
		p.input, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		f.tb.Fatalf("start a client: %v", err)
	}
	f.started++
	f.running = append(f.running, p)
	go p.follow(output, f.books)
}

// follow records what the client says until it ends.
func (p *process) follow(output io.Reader, books *ledger) {
	defer close(p.done)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if e, err := parseEvent(lines.Text()); err == nil {
			books.record(p.id, e, time.Now())
		}
	}
	p.err = p.cmd.Wait()
	books.gone(p.id, time.Now())
}

// kill kills the i-th client, and starts another one.
func (f *fleet) kill(i int) {
	p := f.running[i]
	f.running = append(f.running[:i], f.running[i+1:]...)
	_ = p.cmd.Process.Kill()
	<-p.done
	f.start()
}

// killAll is for the end of a run that failed.
func (f *fleet) killAll() {
	for _, p := range f.running {
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	f.running = nil
}

// stop ends all clients in order, and says which of them did not.
func (f *fleet) stop() []string {
	var mu sync.Mutex
	var violations []string
	var stopping sync.WaitGroup
	for _, p := range f.running {
		stopping.Go(func() {
			if err := p.stop(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				violations = append(violations, fmt.Sprintf("process %d: %v", p.id, err))
			}
		})
	}
	stopping.Wait()
	return violations
}

func (p *process) stop() error {
	_ = p.input.Close()
	select {
	case <-p.done:
		return p.err
	case <-time.After(stopLimit):
		return fmt.Errorf("still running %v after it was told to end", stopLimit)
	}
}
