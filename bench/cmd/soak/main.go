//go:build linux

// Command soak breaks, at random, what locks in Redis depend on, while
// processes contend for a few of them:
//
//	go run ./bench/cmd/soak [-duration 10m] [-seed N] [-clients N]
//
// It kills clients, closes their connections, freezes the server, kills it and
// starts it again, with all that it had answered on disk, and makes it forget
// its scripts. Meanwhile it checks that no two holders believe in a lock at the
// same time, that tokens only grow, that nobody waits for longer than the TTL
// and a second while nobody has the lock and the server runs, and in the end
// that nothing is left behind. It prints what it found, and exits with 1 if
// that is a violation. The seed decides which faults come when; what they meet
// is up to chance.
//
// It runs on Linux: all processes have to read the same monotonic clock.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/fencehold/fencehold/bench/internal/rig"
)

func main() {
	if url := os.Getenv(clientVariable); url != "" {
		os.Exit(clientMain(url))
	}
	s := settings{}
	flag.DurationVar(&s.duration, "duration", 10*time.Minute, "how long there are faults")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64N(1_000_000), "what decides about faults")
	flag.IntVar(&s.clients, "clients", 5, "how many processes contend")
	flag.Parse()
	fmt.Printf("soak: seed %d for %v\n", s.seed, s.duration)
	r := rig.New(os.Stderr)
	result := soak(r, s)
	r.Close()
	fmt.Println(result)
	if len(result.violations) > 0 {
		os.Exit(1)
	}
}
