// Package testcluster starts real Redis servers for tests: one server, a set
// under Sentinel, a Cluster, and a TCP proxy that breaks connections at will.
// It needs the program redis-server and nothing but the standard library.
//
// Servers listen on loopback ports of their own and keep their files in a
// temporary directory. They end with the test; on Linux also when the test
// binary is killed.
package testcluster

import (
	"errors"
	"fmt"
	"time"
)

// TB is what the harness needs of a [testing.T]; other programs can implement
// it. Fatalf must not return.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Cleanup(f func())
	TempDir() string
}

// Limits of the harness. They are generous, for machines that are busy.
const (
	startLimit   = 20 * time.Second      // for a server to answer, and for one to stop
	settleLimit  = 40 * time.Second      // for a set of servers to agree
	promoteLimit = 6 * time.Second       // for a node of a Cluster to take over
	commandLimit = 10 * time.Second      // for one command of a test
	probeLimit   = time.Second           // for one question of the harness to a server that may be frozen
	pollEvery    = 5 * time.Millisecond  // between two questions to one server that starts
	settleEvery  = 20 * time.Millisecond // between two questions to a set of servers
	dialLimit    = 5 * time.Second       // for the proxy to reach its target
	shutdownWait = "2"                   // seconds that a stopping server waits for its replicas
	nodeTimeout  = "2000"                // milliseconds of silence after which nodes of a Cluster suspect one
	downAfter    = "2000"                // the same for Sentinel
	failoverTime = "2000"                // milliseconds after which Sentinel gives up a failover
)

// final is an error that waiting longer does not mend.
type final struct{ error }

// Unwrap returns the cause.
func (f final) Unwrap() error { return f.error }

// await repeats check, with pauses of every, until it returns nil. It returns
// check's last error after limit, and a [final] one at once.
func await(limit, every time.Duration, check func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return nil
		}
		if f, ok := errors.AsType[final](err); ok {
			return f.error
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", limit, err)
		}
		time.Sleep(every)
	}
}
