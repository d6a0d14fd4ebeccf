package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/fencehold/fencehold/bench/internal/figure"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// workerVariable makes the test binary be the command.
const workerVariable = "FENCEHOLD_BENCH_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	processes  = 4
	each       = 16 // goroutines of a process
	fair       = 0.99
	perTurn    = 2.2 // requests
	contending = "3s"
)

// TestWorkers lets four processes contend for one lock with 16 goroutines
// each: no update is lost, turns are spread evenly over processes and inside
// each, and a turn costs hardly more than the request to wait and the release.
func TestWorkers(t *testing.T) {
	server := testcluster.StartRedis(t)
	workers := make([]*worker, processes)
	for i := range workers {
		workers[i] = startWorker(t, server)
	}
	before := scripts(server)
	for _, w := range workers {
		w.begin(t)
	}
	var totals []int
	sum, key := 0, ""
	for _, w := range workers {
		r := w.report(t)
		total := 0
		for _, n := range r.Turns {
			total += n
		}
		if j := figure.Jain(r.Turns); j < fair || len(r.Turns) != each {
			t.Errorf("inside a process the Jain index is %.4f: %v", j, r.Turns)
		}
		totals, sum, key = append(totals, total), sum+total, r.Key
	}
	cost := float64(scripts(server)-before) / float64(sum)
	t.Logf("turns of each process: %v; %.3f requests a turn", totals, cost)
	if number := server.Do("GET", key); number != strconv.Itoa(sum) {
		t.Errorf("%d turns were made, and the number is %q", sum, number)
	}
	if j := figure.Jain(totals); j < fair {
		t.Errorf("between processes the Jain index is %.4f: %v", j, totals)
	}
	if cost > perTurn {
		t.Errorf("%.3f requests a turn; want %v at most", cost, perTurn)
	}
}

// scripts counts the requests of clients of fencehold: all are scripts.
func scripts(server *testcluster.Redis) int {
	return figure.Requests(server.Do("INFO", "commandstats"), "evalsha", "eval")
}

// worker is the command in a process of its own.
type worker struct {
	orders  io.Writer
	answers *bufio.Reader
}

// startWorker returns when the process is ready to begin.
func startWorker(t *testing.T, server *testcluster.Redis) *worker {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-url", server.URL(), "-goroutines", strconv.Itoa(each),
		"-duration", contending, "-wait", "-json")
	cmd.Env = append(os.Environ(), workerVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	w := &worker{orders: in, answers: bufio.NewReader(out)}
	if line, err := w.answers.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the worker began with %q, %v", line, err)
	}
	return w
}

func (w *worker) begin(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(w.orders, "go\n"); err != nil {
		t.Fatal(err)
	}
}

// report waits until the worker has ended.
func (w *worker) report(t *testing.T) report {
	t.Helper()
	var r report
	if err := json.NewDecoder(w.answers).Decode(&r); err != nil {
		t.Fatalf("report of a worker: %v", err)
	}
	return r
}
