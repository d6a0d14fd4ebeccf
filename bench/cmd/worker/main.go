// Command worker contends for one lock with many goroutines. Under the lock,
// each of them adds one to a number in the same Redis by reading and writing
// it, which loses updates wherever two have the lock at once.
//
//	worker -url redis://127.0.0.1:6379 [-name NAME] [-goroutines N]
//	       [-turns N | -duration D] [-ttl D] [-wait] [-json]
//
// It prints the turns of each goroutine. The number, at the key that -json
// shows, has to be the sum of the turns of all workers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	_ "github.com/fencehold/fencehold/redislock" // registers redis://
)

// settings are what the flags say.
type settings struct {
	url, name  string
	goroutines int
	turns      int // of each goroutine; 0: no limit
	duration   time.Duration
	ttl        time.Duration
	wait, json bool
}

// report is what is printed.
type report struct {
	PID     int     `json:"pid"`
	Key     string  `json:"key"`     // of the number
	Turns   []int   `json:"turns"`   // by goroutine
	Seconds float64 `json:"seconds"` // that it took
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// parse reads the flags.
func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.StringVar(&s.url, "url", "redis://127.0.0.1:6379", "the lock service")
	flags.StringVar(&s.name, "name", "worker", "the name of the lock")
	flags.IntVar(&s.goroutines, "goroutines", 16, "how many contend in this process")
	flags.IntVar(&s.turns, "turns", 0, "how many turns each takes; 0: as many as it can")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "when to stop at the latest")
	flags.DurationVar(&s.ttl, "ttl", 30*time.Second, "the time to live of the lock")
	flags.BoolVar(&s.wait, "wait", false, "print \"ready\" and begin with a line on stdin, as others do")
	flags.BoolVar(&s.json, "json", false, "print JSON")
	err := flags.Parse(args)
	if err == nil && s.goroutines < 1 {
		err = fmt.Errorf("-goroutines %d: must be positive", s.goroutines)
	}
	return s, err
}

// run is the command.
func run(args []string, in io.Reader, out io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	c, err := newContest(s)
	if err != nil {
		return err
	}
	defer c.close()
	if s.wait {
		_, _ = fmt.Fprintln(out, "ready")
		if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
			return fmt.Errorf("wait for the others: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.duration)
	defer cancel()
	began := time.Now()
	turns, err := c.contend(ctx)
	r := report{PID: os.Getpid(), Key: c.key, Turns: turns, Seconds: time.Since(began).Seconds()}
	if s.json {
		_ = json.NewEncoder(out).Encode(r)
	} else {
		_, _ = fmt.Fprintf(out, "%v turns in %.1f s; the number is at %s\n", r.Turns, r.Seconds, r.Key)
	}
	return err
}
