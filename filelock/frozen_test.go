//go:build unix

package filelock_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/filelock"
)

func init() { roles["client"] = playClient }

// playClient holds the lock as a client for a TTL of a second. For each line
// that it reads it says at once whether the lease is valid, and how it ended.
func playClient(r *role) {
	client, err := fencehold.New(r.backend, fencehold.WithTTL(time.Second))
	must(err)
	lease, err := client.Mutex(r.name).Acquire(context.Background())
	must(err)
	fmt.Println("held", lease.Token())
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		valid, start := lease.Valid(), time.Now()
		select {
		case <-lease.Done():
		case <-time.After(100 * time.Millisecond):
		}
		fmt.Println(valid, errors.Is(lease.Err(), fencehold.ErrLost), time.Since(start).Milliseconds())
	}
}

// A process is stopped for longer than its lease: another one gets the lock,
// and the first thing that the process learns is that it has lost it.
func TestB29FrozenHolderLearnsOfTheLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := start(t, "client-lease", dir, "job")
	token := strings.TrimPrefix(holder.line(), "held ")
	time.Sleep(700 * time.Millisecond) // it has been renewed
	b := newBackend(t, dir, &filelock.Options{Lease: true})
	frozen := time.Now()
	holder.freeze()
	grant := acquireWithin(t, b, "job", 1500*time.Millisecond)
	if grant.Token.String() == token || len(grant.Token.String()) < len(token) || grant.Token.String() < token {
		t.Errorf("token %v after %s", grant.Token, token)
	}
	before, err := os.ReadFile(lockFile(dir, "job"))
	check(t, err)
	time.Sleep(time.Until(frozen.Add(3 * time.Second)))
	_, err = fmt.Fprintln(holder.stdin, "ask")
	check(t, err)
	holder.signal(syscall.SIGCONT)
	fields := strings.Fields(holder.line())
	if len(fields) != 3 || fields[0] != "false" || fields[1] != "true" {
		t.Errorf("after the pause the holder finds valid, lost, ms: %v", fields)
	}
	time.Sleep(1500 * time.Millisecond)
	if after, err := os.ReadFile(lockFile(dir, "job")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the old holder changed the lock from\n%s to\n%s", before, after)
	}
	check(t, b.Check(grant))
	release(t, b, grant)
}
