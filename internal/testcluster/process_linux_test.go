package testcluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// parentOnly is the environment variable that makes the test binary the process
// that is killed in TestServersDieWithTheBinary.
const parentOnly = "TESTCLUSTER_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentOnly) != "" {
		os.Exit(parent())
	}
	os.Exit(m.Run())
}

// parent starts a server, tells its process id, and waits to be killed.
func parent() int {
	dir := os.Getenv(parentOnly)
	r := StartRedis(console{dir})
	fmt.Println(r.PID())
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 1
}

// console is the TB of a program that is no test.
type console struct{ dir string }

func (console) Helper()           {}
func (console) Cleanup(func())    {}
func (c console) TempDir() string { return c.dir }
func (console) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (c console) Fatalf(format string, args ...any) {
	c.Logf(format, args...)
	os.Exit(1)
}

func TestServersDieWithTheBinary(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentOnly+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // open, so that the binary waits
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Errorf("server %d does not run", pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the server dies", func() bool { return !alive(pid) })
}

// alive tells whether a process is there and more than a zombie.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestServersEndWithTheTest(t *testing.T) {
	var pid int
	t.Run("inner", func(t *testing.T) {
		r := StartRedis(t)
		pid = r.PID()
		r.Pause()
	})
	if alive(pid) {
		t.Errorf("server %d outlives its test", pid)
	}
}
