package interop

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// script is a stranger in a process of its own, which is given orders by lines.
type script struct {
	orders  io.Writer
	answers *bufio.Reader
}

// newPython starts redis-py as Debian has it.
func newPython(tb testing.TB, servers ...*testcluster.Redis) stranger {
	return startScript(tb, servers, "/usr/bin/python3", filepath.Join("testdata", "redispy.py"))
}

// newNode starts redlock on ioredis.
func newNode(tb testing.TB, servers ...*testcluster.Redis) stranger {
	dir, err := installed()
	if err != nil {
		tb.Fatal(err)
	}
	return startScript(tb, servers, "node", filepath.Join(dir, "redlock.mjs"))
}

// startScript starts a program that ends with the test. It is given the ports of all
// servers.
func startScript(tb testing.TB, servers []*testcluster.Redis, program, file string) stranger {
	tb.Helper()
	args := []string{file}
	for _, server := range servers {
		args = append(args, strconv.Itoa(server.Port()))
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start %s: %v", program, err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &script{orders: in, answers: bufio.NewReader(out)}
}

// order gives one order and returns the answer.
func (s *script) order(words ...string) (string, error) {
	if _, err := fmt.Fprintln(s.orders, strings.Join(words, " ")); err != nil {
		return "", err
	}
	answer, err := s.answers.ReadString('\n')
	answer = strings.TrimSpace(answer)
	if err == nil && strings.HasPrefix(answer, "error") {
		err = fmt.Errorf("%s: %s", words[0], answer)
	}
	return answer, err
}

func (s *script) try(key string, ttl time.Duration) (bool, error) {
	answer, err := s.order("try", key, millis(ttl))
	return answer == "yes", err
}

func (s *script) release() error {
	_, err := s.order("release")
	return err
}

func (s *script) contend(c contest, kind string) error {
	_, err := s.order("contend", c.key, millis(lockTTL), strconv.Itoa(c.turns), kind)
	return err
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// nodeDir is where the packages of node are installed; empty until they are.
var nodeDir string

// installed installs the packages that the lock file of testdata/node pins,
// once, into a temporary directory, and returns it.
var installed = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fencehold-interop-")
	if err != nil {
		return "", err
	}
	nodeDir = dir
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "node"))); err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if nodeDir != "" {
		_ = os.RemoveAll(nodeDir)
	}
	os.Exit(code)
}
