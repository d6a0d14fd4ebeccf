//go:build unix

package filelock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// playWait starts to wait for each line that it reads, and prints the line
// when it has the lock.
func playWait(r *role) {
	var all sync.WaitGroup
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		text := s.Text()
		all.Go(func() {
			grant := r.acquire()
			f, err := os.OpenFile(r.args[0], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
			must(err)
			fmt.Fprintln(f, text)
			must(f.Close())
			r.release(grant)
		})
	}
	all.Wait()
	fmt.Println("done")
}

func TestB41OrderAcrossProcesses(t *testing.T) {
	t.Parallel()
	const processes, waiters = 8, 64
	dir, served := t.TempDir(), filepath.Join(t.TempDir(), "served")
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	var all []*child
	for range processes {
		all = append(all, start(t, "wait", dir, "job", served))
	}
	var want strings.Builder
	for i := range waiters {
		fmt.Fprintln(&want, i)
		_, err := fmt.Fprintln(all[i*5%processes].stdin, i)
		check(t, err)
		awaitWaiters(t, b, "job", i+1)
	}
	release(t, b, grant)
	for _, c := range all {
		check(t, c.stdin.Close())
		c.line()
	}
	got, err := os.ReadFile(served)
	check(t, err)
	if string(got) != want.String() {
		t.Errorf("served in the order\n%s", strings.ReplaceAll(string(got), "\n", " "))
	}
	noLine(t, dir)
}

func TestB41GreedyHolder(t *testing.T) {
	t.Parallel()
	b := newBackend(t, t.TempDir(), nil)
	var mu sync.Mutex
	var turns []string
	turn := func(who string) {
		grant, err := b.Acquire(t.Context(), request("job"))
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		turns = append(turns, who)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		release(t, b, grant)
	}
	stop := make(chan struct{})
	var greedy, others sync.WaitGroup
	first := acquire(t, b, "job")
	for range 20 {
		others.Go(func() { turn("other") })
	}
	awaitWaiters(t, b, "job", 20)
	greedy.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				turn("greedy")
			}
		}
	})
	awaitWaiters(t, b, "job", 21)
	release(t, b, first)
	start := time.Now()
	others.Wait()
	if took := time.Since(start); took > 2*time.Second+slack {
		t.Errorf("20 waiters were served in %v", took)
	}
	close(stop)
	greedy.Wait()
	for i, who := range turns[:20] {
		if who != "other" {
			t.Errorf("the greedy one came before %d waiters that were there before it", 20-i)
		}
	}
}

func TestB39DeadWaiters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	waiters := start(t, "wait", dir, "job", filepath.Join(t.TempDir(), "served"))
	for i := range 20 {
		_, err := fmt.Fprintln(waiters.stdin, i)
		check(t, err)
	}
	awaitWaiters(t, b, "job", 20)
	waiters.signal(syscall.SIGKILL)
	waiters.ended()
	awaitWaiters(t, b, "job", 0)

	next := make(chan driver.Grant)
	go func() {
		grant, err := b.Acquire(context.Background(), request("job"))
		if err != nil {
			t.Error(err)
		}
		next <- grant
	}()
	awaitWaiters(t, b, "job", 1)
	start := time.Now()
	release(t, b, grant)
	grant = <-next
	if took := time.Since(start); took > 100*time.Millisecond+slack {
		t.Errorf("20 dead waiters cost %v", took)
	}
	release(t, b, grant)
	noLine(t, dir)
}

func TestB39DeadWaitersDoNotRefuseAttempts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	waiters := start(t, "wait", dir, "job", filepath.Join(t.TempDir(), "served"))
	_, err := fmt.Fprintln(waiters.stdin, "x")
	check(t, err)
	awaitWaiters(t, b, "job", 1)
	waiters.signal(syscall.SIGKILL)
	waiters.ended()
	release(t, b, grant)
	release(t, b, acquire(t, b, "job"))
	noLine(t, dir)
}

func TestB19CancelledWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	gaveUp := make(chan error)
	start := time.Now()
	go func() {
		_, err := b.Acquire(ctx, request("job"))
		gaveUp <- err
	}()
	awaitWaiters(t, b, "job", 1)
	next := make(chan driver.Grant)
	go func() {
		grant, err := b.Acquire(context.Background(), request("job"))
		if err != nil {
			t.Error(err)
		}
		next <- grant
	}()
	awaitWaiters(t, b, "job", 2)

	err := <-gaveUp
	if took := time.Since(start); took < 300*time.Millisecond || took > 500*time.Millisecond+slack {
		t.Errorf("gave up after %v", took)
	}
	var held *fencehold.HeldError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &held) || held.Holder != grant.Holder {
		t.Errorf("gave up with %v", err)
	}
	awaitWaiters(t, b, "job", 1)
	start = time.Now()
	release(t, b, grant)
	grant = <-next
	if took := time.Since(start); took > 100*time.Millisecond+slack {
		t.Errorf("handed over in %v", took)
	}
	release(t, b, grant)
	noLine(t, dir)
}

// A wait is cancelled while the release that wakes it is on its way; the one
// behind it must be woken in its place.
func TestB19CancelMeetsRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	for i := range rounds(500) {
		grant := acquire(t, b, "job")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if grant, err := b.Acquire(ctx, request("job")); err == nil {
				release(t, b, grant)
			}
		})
		awaitWaiters(t, b, "job", 1)
		all.Go(func() {
			grant := acquireWithin(t, b, "job", time.Second)
			release(t, b, grant)
		})
		awaitWaiters(t, b, "job", 2)
		all.Go(func() {
			time.Sleep(time.Duration(i%10) * 20 * time.Microsecond)
			cancel()
		})
		release(t, b, grant)
		all.Wait()
		cancel()
	}
	noLine(t, dir)
}

// A release falls between a waiter's try and its sleep.
func TestNoLostWakeUp(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			holder, waiter := newBackend(t, dir, opts), newBackend(t, dir, opts)
			var polled int
			n := rounds(1000)
			for i := range n {
				grant := acquire(t, holder, "job")
				released := make(chan time.Time)
				go func() {
					time.Sleep(time.Duration(i%20) * 50 * time.Microsecond)
					now := time.Now()
					release(t, holder, grant)
					released <- now
				}()
				next, err := waiter.Acquire(t.Context(), request("job"))
				check(t, err)
				had := time.Now()
				if had.Sub(<-released) > minPoll {
					polled++
				}
				release(t, waiter, next)
			}
			// A busy machine may be that slow now and then; a lost wake-up
			// would be far more frequent.
			if polled > n/4 {
				t.Errorf("%d of %d hand-overs took longer than a poll", polled, n)
			}
		})
	}
}

// minPoll is the shortest time after which the first in line looks by itself.
const minPoll = 25 * time.Millisecond

func TestTicketsThatWereRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { release(t, b, acquireWithin(t, b, "job", 5*time.Second)) })
	}
	awaitWaiters(t, b, "job", 3)
	check(t, os.RemoveAll(filepath.Join(dir, ".fencehold")))
	awaitWaiters(t, b, "job", 3)
	mustBeHeld(t, b, "job")
	release(t, b, grant)
	all.Wait()
	noLine(t, dir)
}

func TestBargingGoesBeforeTheLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	waiter := start(t, "hold", dir, "job")
	awaitWaiters(t, b, "job", 1)
	waiter.freeze()
	release(t, b, grant)
	if held := mustBeHeld(t, b, "job"); held.Position != 2 {
		t.Errorf("place in line: %d", held.Position)
	}
	req := request("job")
	req.Barging = true
	grant, err := b.TryAcquire(t.Context(), req)
	check(t, err)
	waiter.signal(syscall.SIGCONT)
	release(t, b, grant)
	waiter.line()
}
