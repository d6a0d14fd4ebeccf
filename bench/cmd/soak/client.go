//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/fencehold/fencehold"
	_ "github.com/fencehold/fencehold/redislock" // registers redis://
)

// clientVariable makes the program a client of the lock service that it names.
const clientVariable = "FENCEHOLD_SOAK_CLIENT"

const (
	goroutines = 4                      // of each client
	useEvery   = 4 * time.Millisecond   // between two events of a holder
	shortHold  = 20 * time.Millisecond  // how long most locks are held at most
	longHold   = 3 * time.Second        // more than a TTL: it takes renewals
	rareHold   = 200                    // one of so many is held for long
	afterError = 20 * time.Millisecond  // the pause when a wait failed
	openLimit  = 20 * time.Second       // to find a server that may be down
	openEvery  = 100 * time.Millisecond // between two attempts
)

// clientMain is a client process. It goes on until its stdin is closed, and
// returns its exit status.
func clientMain(url string) int {
	client, err := openPatiently(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak client:", err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var running sync.WaitGroup
	for i := range goroutines {
		running.Go(func() { (&contender{client: client, goroutine: i}).contend(ctx) })
	}
	running.Wait()
	if err := client.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "soak client: close:", err)
		return 1
	}
	return 0
}

// openPatiently opens a client although the server may be down.
func openPatiently(url string) (*fencehold.Client, error) {
	for deadline := time.Now().Add(openLimit); ; time.Sleep(openEvery) {
		client, err := fencehold.Open(context.Background(), url, fencehold.WithTTL(lockTTL))
		if err == nil || time.Now().After(deadline) {
			return client, err
		}
	}
}

// contender is one goroutine of a client.
type contender struct {
	client    *fencehold.Client
	goroutine int
}

// contend takes locks until ctx ends.
func (c *contender) contend(ctx context.Context) {
	for ctx.Err() == nil {
		name := lockName(rand.N(names))
		c.tell(waits, name, 0, monotonic())
		lease, err := c.client.Mutex(name).Acquire(ctx)
		if err != nil {
			c.tell(failed, name, 0, monotonic())
			time.Sleep(afterError)
			continue
		}
		c.hold(ctx, lease)
	}
}

// hold uses a lease for a while, for as long as it is valid, and releases it.
func (c *contender) hold(ctx context.Context, lease *fencehold.Lease) {
	name, token := lease.Name(), int64(lease.Token())
	kind, until := granted, time.Now().Add(span())
	for {
		at := monotonic()
		if !lease.Valid() { //nolint:contextcheck // Valid takes no context
			c.tell(lost, name, token, at)
			break
		}
		c.tell(kind, name, token, at)
		kind = uses
		if ctx.Err() != nil || !time.Now().Before(until) {
			break
		}
		time.Sleep(useEvery)
	}
	_ = lease.Release(context.WithoutCancel(ctx))
	c.tell(ended, name, token, monotonic())
}

// span is how long to hold a lock.
func span() time.Duration {
	if rand.N(rareHold) == 0 {
		return longHold
	}
	return rand.N(shortHold)
}

// tell writes one event, in one piece: it is there even if the process is
// killed at the next instant.
func (c *contender) tell(kind, name string, token, at int64) {
	line := event{kind: kind, goroutine: c.goroutine, name: name, token: token, at: at}.String()
	_, _ = os.Stdout.WriteString(line)
}
