//go:build unix

package redislock_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock"
)

// roleVariable makes the test binary play a part in another's test.
const roleVariable = "REDISLOCK_TEST_ROLE"

// roles are what processes do. Their arguments are a URL, a name, a TTL, and
// what the role needs.
var roles = map[string]func(*role){"hold": playHold, "wait": playWait}

func TestMain(m *testing.M) {
	if name := os.Getenv(roleVariable); name != "" {
		play(name)
		return
	}
	os.Exit(m.Run())
}

// role is the view of a process of itself.
type role struct {
	url, name string
	ttl       time.Duration
	args      []string
}

func play(name string) {
	ttl, err := time.ParseDuration(os.Args[3])
	must(err)
	roles[name](&role{os.Args[1], os.Args[2], ttl, os.Args[4:]})
}

// must ends a process that cannot play its role.
func must(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// client opens one more client of the process.
func (r *role) client() *fencehold.Client {
	backend, err := redislock.Open(context.Background(), r.url)
	must(err)
	client, err := fencehold.New(backend, fencehold.WithTTL(r.ttl))
	must(err)
	return client
}

// playHold holds the lock, and answers what it is asked about the lease.
func playHold(r *role) {
	lease, err := r.client().Mutex(r.name).Acquire(context.Background())
	must(err)
	fmt.Println("held", int64(lease.Token()))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "valid":
			fmt.Println("valid", lease.Valid())
		case "done":
			began := time.Now()
			<-lease.Done()
			fmt.Println("done", time.Since(began).Milliseconds(), lease.Err())
		}
	}
}

// playWait has as many clients wait as the argument says.
func playWait(r *role) {
	n, err := strconv.Atoi(r.args[0])
	must(err)
	for range n {
		client := r.client()
		go func() { _, _ = client.Mutex(r.name).Acquire(context.Background()) }()
	}
	fmt.Println("waiting")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// A child is the view of a process by the test that started it.
type child struct {
	testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// startChild starts a process that plays a role. It is killed with the test.
func startChild(t testing.TB, role string, args ...string) *child {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t, cmd, stdin, bufio.NewScanner(stdout)}
	t.Cleanup(c.kill)
	return c
}

// line returns what follows a word at the beginning of the next line.
func (c *child) line(word string) string {
	c.Helper()
	// A process that says nothing is ended, and with it the line.
	timer := time.AfterFunc(limit, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	if !c.lines.Scan() {
		c.Fatalf("the process ended before it said %q: %v", word, c.lines.Err())
	}
	rest, ok := strings.CutPrefix(c.lines.Text(), word)
	if !ok {
		c.Fatalf("the process said %q, want %q", c.lines.Text(), word)
	}
	return strings.TrimSpace(rest)
}

// ask sends the process a line, which it need not be awake to get.
func (c *child) ask(question string) {
	c.Helper()
	if _, err := fmt.Fprintln(c.stdin, question); err != nil {
		c.Fatal(err)
	}
}

func (c *child) signal(signal syscall.Signal) {
	c.Helper()
	if err := c.cmd.Process.Signal(signal); err != nil {
		c.Fatal(err)
	}
}

// freeze stops the process, and returns when it has stopped.
func (c *child) freeze() {
	c.Helper()
	c.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		c.Fatalf("the process does not stop: %v, %v", status, err)
	}
}

// kill ends the process as a crash would, and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
