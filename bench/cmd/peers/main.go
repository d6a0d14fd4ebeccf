// Command peers measures fencehold beside other lock libraries, and beside the
// fewest requests that could do the same, on one real redis-server that it
// starts. It prints one Markdown table: medians over rounds, and the ratio to
// the raw requests of the same round. With -redlock it measures locks on a set of
// five servers, beside redsync, to which the ratios are.
//
//	go run ./bench/cmd/peers [-redlock] [-rounds 3] [-quick]
//
// All of it is measured in every round, one library after the other, so that a
// machine that is slow for a while is slow for all of them. Read the ratios:
// the figures belong to the machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/fencehold/fencehold/bench/internal/rig"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// session is one run of the command.
type session struct {
	servers []*testcluster.Redis // one, or those of the set
	table   *table
	scale   scale
}

// scale is how much is measured in a round.
type scale struct {
	chunks     int           // of uncontended cycles
	goroutines int           // each with its own lock
	busy       time.Duration // for which they go on
	crowds     []int         // how many wait for a hand-over on one server
	setCrowds  []int         // the same on a set
	handovers  int           // of libraries that do not poll
	crashes    int
	attempts   int // that fail
}

// setSize is how many servers are in the set.
const setSize = 5

var (
	normal = scale{
		chunks: 10, goroutines: 512, busy: time.Second, crowds: []int{8, 64, 256}, setCrowds: []int{8, 64},
		handovers: 512, crashes: 30, attempts: 1000,
	}
	quick = scale{
		chunks: 2, goroutines: 512, busy: 200 * time.Millisecond, crowds: []int{8, 64}, setCrowds: []int{8, 64},
		handovers: 64, crashes: 5, attempts: 100,
	}
)

func main() {
	rounds := flag.Int("rounds", 3, "how often everything is measured")
	small := flag.Bool("quick", false, "measure little, to see that it works")
	set := flag.Bool("redlock", false, "measure locks on a set of servers")
	flag.Parse()
	r := rig.New(os.Stderr)
	s := &session{table: newTable(), scale: normal}
	if *small {
		s.scale = quick
	}
	n, measures := 1, s.single()
	if *set {
		n, measures = setSize, s.set()
	}
	for range n {
		s.servers = append(s.servers, testcluster.StartRedis(r))
	}
	err := s.run(*rounds, measures)
	r.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	s.table.print(os.Stdout)
}

// single is what is measured on one server.
func (s *session) single() []func(int) error {
	return []func(int) error{s.free, s.busy, s.handovers, s.crashes}
}

// run measures everything, rounds times.
func (s *session) run(rounds int, measures []func(int) error) error {
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
		for _, measure := range measures {
			if err := measure(round); err != nil {
				return err
			}
		}
	}
	return nil
}
