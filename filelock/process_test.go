//go:build unix

package filelock_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock"
)

const (
	// roleVariable makes the test binary play a part in another's test.
	roleVariable = "FILELOCK_TEST_ROLE"
	// slack is what a busy machine may add to a time that is checked.
	slack = 250 * time.Millisecond
	// limit ends whatever hangs.
	limit = 30 * time.Second
)

// roles are what processes do, with their arguments: a directory, a name, and
// what the role needs.
var roles = map[string]func(r *role){
	"hold":  playHold,
	"crash": playCrash,
	"count": playCount,
	"wait":  playWait,
	"mint":  playMint,
	"own":   playOwn,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(roleVariable); name != "" {
		play(name)
		return
	}
	os.Exit(m.Run())
}

// A role is the view of a process of itself.
type role struct {
	backend driver.Backend
	name    string
	args    []string
}

func play(name string) {
	opts := &filelock.Options{Lease: strings.HasSuffix(name, "-lease")}
	backend, err := filelock.New(os.Args[1], opts)
	must(err)
	defer backend.Close()
	roles[strings.TrimSuffix(name, "-lease")](&role{backend, os.Args[2], os.Args[3:]})
}

func must(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func (r *role) request() driver.Request {
	return driver.Request{Name: r.name, Holder: driver.NewHolder(), Owner: "role", TTL: 30 * time.Second}
}

func (r *role) acquire() driver.Grant {
	grant, err := r.backend.(driver.Queuer).Acquire(context.Background(), r.request())
	must(err)
	return grant
}

func (r *role) release(grant driver.Grant) { must(r.backend.Release(context.Background(), grant, 0)) }

// playHold holds the lock until the input ends.
func playHold(r *role) {
	grant := r.acquire()
	fmt.Println("held", grant.Holder, grant.Token)
	_, _ = io.Copy(io.Discard, os.Stdin)
	r.release(grant)
	fmt.Println("released")
}

// playCrash dies with the lock.
func playCrash(r *role) {
	r.acquire()
	must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
}

// A child is the view of a process by the test that started it.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
}

// start starts a process that plays a role. It is killed with the test.
func start(t *testing.T, role string, args ...string) *child {
	t.Helper()
	return startAs(t, nil, role, args...)
}

// startAs does it as another user, from a copy of the binary that they can run.
func startAs(t *testing.T, user *syscall.Credential, role string, args ...string) *child {
	t.Helper()
	binary, err := os.Executable()
	check(t, err)
	cmd := exec.Command(binary, args...)
	if user != nil {
		content, err := os.ReadFile(binary)
		check(t, err)
		cmd.Path = filepath.Join(args[0], "binary")
		check(t, os.WriteFile(cmd.Path, content, 0o755))
		check(t, os.Chmod(cmd.Path, 0o755))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	}
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	c := &child{t: t, cmd: cmd, stdin: stdin, lines: make(chan string, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range c.lines {
		}
		<-read
		_ = cmd.Wait()
	})
	return c
}

// line returns the next line that the process prints.
func (c *child) line() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the process ended")
		}
		if strings.HasPrefix(line, "error:") {
			c.t.Fatal(line)
		}
		return line
	case <-time.After(limit):
		c.t.Fatal("the process says nothing")
		return ""
	}
}

func (c *child) signal(signal syscall.Signal) {
	c.t.Helper()
	check(c.t, c.cmd.Process.Signal(signal))
}

// freeze stops the process, and returns when it has stopped.
func (c *child) freeze() {
	c.t.Helper()
	c.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		c.t.Fatalf("the process does not stop: %v, %v", status, err)
	}
}

// ended waits for the end of a process that fails for no reason of its own.
func (c *child) ended() {
	c.t.Helper()
	for line := range c.lines {
		if strings.HasPrefix(line, "error:") {
			c.t.Error(line)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
