package main_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/process"
)

// TestB79FirstProcess: in a container the wrapper is process 1, which the
// kernel gives every orphan to and protects from signals that it does not
// catch.
func TestB79FirstProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	// The processes of a new PID namespace are seen from outside by their
	// numbers here.
	const script = `i=0; while [ $i -lt 50 ]; do (setsid sleep 0.1 & exit 0); i=$((i+1)); done; : > up; ` +
		`while [ ! -e stop ]; do sleep 0.02; done; ls -d /proc/[0-9]* | wc -l; exit 3`
	cmd := firstProcess(t, binary, "run", "job", "--", "sh", "-c", script)
	cmd.Dir, cmd.Env = b.dir, b.env
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.exists("up")
	wrapper := childrenOf(t, cmd.Process.Pid)
	if len(wrapper) != 1 {
		t.Fatalf("children of unshare: %v, want the wrapper", wrapper)
	}
	within(t, 5*time.Second, "no zombie is left in the namespace", func() bool {
		return len(zombies(t, wrapper[0].PID)) == 0
	})
	b.write("stop", "")
	if code := b.wait(cmd); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
}

// TestB79FirstProcessStops: process 1 passes TERM on.
func TestB79FirstProcessStops(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	cmd := firstProcess(t, binary, "run", "job", "--", "sh", "-c",
		`trap "exit 4" TERM; : > up; while :; do sleep 0.02; done`)
	cmd.Dir, cmd.Env = b.dir, b.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.exists("up")
	for _, s := range childrenOf(t, cmd.Process.Pid) {
		syscall.Kill(s.PID, syscall.SIGTERM)
	}
	if code := b.wait(cmd); code != 4 {
		t.Errorf("exit code %d, want 4", code)
	}
}

// firstProcess prepares a command as process 1 of a PID namespace, which needs a
// user namespace around it, or root. One of them is there on every machine that
// runs containers; where neither is, the test fails and says so.
func firstProcess(t *testing.T, command ...string) *exec.Cmd {
	t.Helper()
	pid := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	var refused []string
	for _, user := range [][]string{{"--user", "--map-root-user"}, nil} {
		args := slices.Concat(user, pid)
		out, err := exec.Command("unshare", slices.Concat(args, []string{"true"})...).CombinedOutput()
		if err == nil {
			return exec.Command("unshare", slices.Concat(args, command)...)
		}
		refused = append(refused, fmt.Sprintf("unshare %s: %v: %s", strings.Join(args, " "), err, out))
	}
	t.Fatalf("this test needs a PID namespace: allow user namespaces (sysctl user.max_user_namespaces, "+
		"kernel.unprivileged_userns_clone), or run it as root with CAP_SYS_ADMIN\n%s", strings.Join(refused, ""))
	return nil
}

// zombies lists the zombies among the descendants of root.
func zombies(t *testing.T, root int) []process.Stat {
	t.Helper()
	var dead []process.Stat
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, s := range childrenOf(t, queue[0]) {
			queue = append(queue, s.PID)
			if !s.Alive() {
				dead = append(dead, s)
			}
		}
	}
	return dead
}
