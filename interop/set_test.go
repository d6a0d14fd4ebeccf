package interop

import (
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

// TestContentionOnASet is TestContention on three servers, between two clients of
// fencehold, redsync and node redlock: two of the three decide. Afterwards
// no server has the lock, long before its TTL is over.
func TestContentionOnASet(t *testing.T) {
	servers := startSet(t)
	c := contest{key: "lock:shared", turns: 100}
	if full() {
		c.turns = 1000
	}
	ours := func() *fencehold.Client { return newRedlock(t, servers, nil) }
	contend(t, c, contenders(t, c, setStrangers, ours, servers...), servers[0])
	deadline := time.Now().Add(lockTTL / 2)
	for _, server := range servers {
		for server.Do("EXISTS", c.key) != "0" {
			if time.Now().After(deadline) {
				t.Fatalf("the lock stays at %s: %s", server.Addr(), server.Do("GET", c.key))
			}
			time.Sleep(time.Millisecond)
		}
	}
}
