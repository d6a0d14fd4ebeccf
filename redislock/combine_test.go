package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock"
)

// requests is how many scripts a server has run for clients.
func requests(r *race) int {
	r.Helper()
	_, rest, _ := strings.Cut(r.server.Do("INFO", "commandstats"), "cmdstat_evalsha:calls=")
	text, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(text)
	if err != nil {
		r.Fatalf("INFO commandstats: %q", text)
	}
	return n
}

// Many goroutines with locks of their own cost the server less than a request a
// cycle, and no token is given twice.
func TestGatheredCostsLess(t *testing.T) {
	const goroutines, cycles = 64, 20
	g := newGathering(t)
	release(t, acquire(t, g.client, "first"))
	before := requests(g.race)
	var mu sync.Mutex
	tokens := map[fencehold.Token]bool{}
	var all sync.WaitGroup
	for _, name := range names(goroutines) {
		all.Go(func() {
			last := fencehold.Token(0)
			for range cycles {
				lease, err := g.client.Mutex(name).Acquire(g.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if token := lease.Token(); tokens[token] || token <= last {
					t.Errorf("token %v after %v; given before: %v", token, last, tokens[token])
				}
				last = lease.Token()
				tokens[last] = true
				mu.Unlock()
				if err := lease.Release(g.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	sent := requests(g.race) - before
	t.Logf("%.2f requests a cycle", float64(sent)/(goroutines*cycles))
	if sent >= goroutines*cycles {
		t.Errorf("%d requests for %d cycles", sent, goroutines*cycles)
	}
	g.freed()
}

// Tokens follow the counter where the server's clock does not, and begin anew
// with what is no counter.
func TestGatheredTokensFollowTheCounter(t *testing.T) {
	ahead := time.Now().Add(time.Hour).UnixMicro()
	for name, row := range map[string]struct {
		counter string
		above   int64
	}{
		"clock is behind": {strconv.FormatInt(ahead, 10), ahead},
		"no counter":      {"", 0},
		"short counter":   {"5", 5},
		"no number":       {"something else altogether", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGathering(t)
			g.occupy()
			if row.counter != "" {
				g.server.Do("SET", jobCounter, row.counter)
			}
			leases := g.granted(g.together(names(10)...))
			g.gathered(10)
			highest := row.above
			for _, lease := range leases {
				if int64(lease.Token()) <= row.above {
					t.Errorf("token %v, want one above %d", lease.Token(), row.above)
				}
				highest = max(highest, int64(lease.Token()))
			}
			if counter, _ := strconv.ParseInt(g.server.Do("GET", jobCounter), 10, 64); counter < highest {
				t.Errorf("the counter is %d, and %d was given", counter, highest)
			}
			g.releaseAll(leases)
			g.freed()
		})
	}
}

// The last tokens are given to some, and the others are refused.
func TestGatheredTokensAreUsedUp(t *testing.T) {
	const highest, left = 1<<53 - 1, 3
	g := newGathering(t)
	g.occupy()
	g.server.Do("SET", jobCounter, strconv.Itoa(highest-left))
	out := g.together(names(8)...)
	g.gathered(8)
	granted := 0
	for i, err := range out.errs {
		switch {
		case err == nil:
			granted++
			release(t, out.leases[i])
		case !errors.Is(err, fencehold.ErrUnavailable) || !strings.Contains(err.Error(), "2^53-1"):
			t.Errorf("error %v, want one that says that the tokens are used up", err)
		}
	}
	if granted != left {
		t.Errorf("%d were granted, want %d", granted, left)
	}
	g.freed()
}

// Gathered requests go although those before them are not answered.
func TestGatheredGoesInAnyCase(t *testing.T) {
	g := newGathering(t)
	g.occupy()
	began := time.Now()
	leases := g.granted(g.together(names(200)...))
	g.releaseAll(leases)
	took := time.Since(began)
	g.gathered(400)
	if took > hang {
		t.Errorf("took %v", took)
	}
	g.freed()
}

// An attempt is given up while it is under way with others. Its release is there
// before it, and so it takes the lock for nobody: that is returned.
func TestGatheredIsGivenUp(t *testing.T) {
	for name, lost := range map[string]bool{"answered": false, "answer is lost": true} {
		t.Run(name, func(t *testing.T) {
			g := newGathering(t)
			free := g.occupy()
			kept, open := g.keepMany(lost)
			ctx, cancel := context.WithCancel(g.Context())
			done := make(chan error, 1)
			go func() {
				_, err := g.client.Mutex("own").TryAcquire(ctx)
				done <- err
			}()
			<-kept
			free()
			before := g.gate.freed.Load()
			cancel()
			mustBe(t, <-done, context.Canceled)
			g.eventually(soon, "the attempt is undone", func() bool { return g.gate.freed.Load() > before })
			open()
			g.eventually(soon, "the attempt reaches the server", func() bool { return g.gate.past.Load() > 0 })
			answered := time.Now()
			g.freed()
			within(t, "returning", time.Since(answered), soon)
		})
	}
}

// Those who have waited are answered before anything is given back for others.
func TestGatheredAnswersComeFirst(t *testing.T) {
	g := newGathering(t)
	free := g.occupy()
	kept, open := g.keepMany(false)
	gone, cancel := context.WithCancel(g.Context())
	left, stays := make(chan error, 8), make(chan error, 1)
	ask := func(ctx context.Context, name string, done chan<- error) {
		_, err := g.backend.TryAcquire(ctx, request(name))
		done <- err
	}
	for i := range cap(left) {
		go ask(gone, fmt.Sprint("left", i), left)
	}
	go ask(g.Context(), "stays", stays)
	<-kept
	free()
	cancel()
	for range cap(left) {
		mustBe(t, <-left, context.Canceled)
	}
	silent := passage(func(ctx context.Context, _ redislock.Call, _ func() (string, error)) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	g.gate.alone.Store(&silent)
	open()
	select {
	case err := <-stays:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * soon):
		t.Error("an answer waits for what is given back to a server that is silent")
	}
	g.gate.alone.Store(nil)
}

// Without memory gathered acquires are refused, and gathered releases work.
func TestGatheredWithoutMemory(t *testing.T) {
	g := newGathering(t)
	g.occupy()
	leases := g.granted(g.together(names(8)...))
	g.server.Do("CONFIG", "SET", "maxmemory", "1")
	var releases sync.WaitGroup
	releases.Go(func() { g.releaseAll(leases) })
	for _, err := range g.together("more0", "more1", "more2", "more3").errs {
		mustBe(t, err, fencehold.ErrUnavailable)
		if !strings.Contains(err.Error(), "out of memory") {
			t.Errorf("error %q does not say why", err)
		}
	}
	releases.Wait()
	g.gathered(20)
	g.freed()
}

// A counter that is none of ours gives no tokens, and keeps no lock from being
// released.
func TestGatheredWithoutACounter(t *testing.T) {
	g := newGathering(t)
	g.occupy()
	leases := g.granted(g.together(names(4)...))
	g.server.Do("DEL", jobCounter)
	g.server.Do("LPUSH", jobCounter, "x")
	var releases sync.WaitGroup
	releases.Go(func() { g.releaseAll(leases) })
	for _, err := range g.together("more0", "more1").errs {
		mustBe(t, err, fencehold.ErrUnavailable)
	}
	releases.Wait()
	g.freed()
}

// What is not simple is found out, and asked again alone.
func TestGatheredIsNotSimple(t *testing.T) {
	g := newGathering(t)
	other := g.direct()
	held := acquire(t, other, "held")
	g.server.Do("SET", "lock:foreign", "stranger", "PX", "60000")
	g.server.Do("HSET", "lock:hash", "a", "b")
	g.server.Do("ZADD", "lock:fh!q:dead", "1", "HOLDER CLIENT 1000 o=x")
	g.occupy()
	asked := []string{"held", "foreign", "hash", "dead", "free", "free2"}
	out := g.together(asked...)
	g.gathered(len(asked))
	for i, name := range asked {
		if i < 3 {
			mustBe(t, out.errs[i], fencehold.ErrHeld)
			continue
		}
		if out.errs[i] != nil {
			t.Fatalf("%s: %v", name, out.errs[i])
		}
	}
	g.server.Do("DEL", "lock:free")
	g.server.Do("SET", "lock:free2", "stranger", "PX", "60000")
	mustBeLost(t, out.leases[4].Release(g.Context()), fencehold.ReasonDeleted)
	mustBeLost(t, out.leases[5].Release(g.Context()), fencehold.ReasonTakenOver)
	release(t, out.leases[3])
	release(t, held)
}

// A lock that somebody waits for is handed over although its release was gathered.
func TestGatheredReleaseHandsOver(t *testing.T) {
	g := newGathering(t)
	lease := g.hold(g.client)
	g.occupy()
	next := g.queue(g.direct())[0]
	g.release(lease)
	g.gathered(1)
	second := next.granted(soon, "behind a gathered release")
	g.ordered(lease, second)
	g.release(second)
}

// So it is if the caller has gone before the answer came.
func TestGatheredReleaseIsLeft(t *testing.T) {
	g := newGathering(t)
	grant, err := g.backend.TryAcquire(g.Context(), request(job))
	if err != nil {
		t.Fatal(err)
	}
	g.occupy()
	next := g.queue(g.direct())[0]
	kept, open := g.keepMany(false)
	ctx, cancel := context.WithCancel(g.Context())
	done := make(chan error, 1)
	go func() { done <- g.backend.Release(ctx, grant, 0) }()
	<-kept
	cancel()
	mustBe(t, <-done, context.Canceled)
	next.waits("the release is kept back")
	open()
	g.release(next.granted(soon, "behind a release whose caller has gone"))
}

// A renewal that comes while the release is gathered brings nothing back.
func TestGatheredReleaseMeetsRenewal(t *testing.T) {
	g := newGathering(t)
	grant, err := g.backend.TryAcquire(g.Context(), request(job))
	if err != nil {
		t.Fatal(err)
	}
	g.occupy()
	kept, open := g.keepMany(false)
	done := make(chan error, 1)
	go func() { done <- g.backend.Release(g.Context(), grant, 0) }()
	<-kept
	if _, err := g.backend.Renew(g.Context(), grant, long); err != nil {
		t.Error(err)
	}
	open()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := g.backend.Renew(g.Context(), grant, long); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("renewed after its release: %v", err)
	}
	g.freed()
}
