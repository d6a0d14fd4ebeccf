//go:build unix

package counter

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/filelock/internal/boot"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// A disk is a directory with a counter whose clock and machine the test
// controls.
type disk struct {
	t      *testing.T
	dir    *lockdir.Dir
	clock  int64  // microseconds
	synced []byte // what a power cut leaves of the counter
	last   fence.Token
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	dir, err := lockdir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &disk{t: t, dir: dir, clock: 1_000_000_000}
}

func (d *disk) path() string { return filepath.Join(d.dir.State(), counterFile) }

// start returns the counter of a process in this boot of the machine.
func (d *disk) start(id boot.ID) *Counter {
	c := New(d.dir, id)
	c.now = func() int64 { return d.clock }
	c.sync = func() error {
		d.synced = d.read()
		return nil
	}
	d.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (d *disk) read() []byte {
	content, err := os.ReadFile(d.path())
	if err != nil {
		d.t.Error(err)
	}
	return content
}

func (d *disk) write(content []byte) {
	d.t.Helper()
	if err := os.WriteFile(d.path(), content, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// take takes n tokens, which must rise.
func (d *disk) take(c *Counter, n int) {
	d.t.Helper()
	for range n {
		token, err := c.Next(context.Background())
		if err != nil {
			d.t.Fatal(err)
		}
		if token <= d.last || !token.Valid() {
			d.t.Fatalf("token %d after %d", token, d.last)
		}
		d.last = token
	}
}

func TestTokensFollowTheClock(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 3)
	d.clock += 5
	d.take(c, 1)
	if want := fence.Token(d.clock); d.last != want {
		t.Errorf("token %d, want the clock's %d", d.last, want)
	}
	d.clock -= 1_000_000
	d.take(c, 1000)
}

func TestTokensAfterPowerCut(t *testing.T) {
	d := newDisk(t)
	boots := []boot.ID{"1", "2", "3", "4"}
	for i, id := range boots {
		c := d.start(id)
		d.take(c, 10)
		d.clock += tokenStep / 2
		d.take(c, 10)
		d.clock += tokenStep
		d.take(c, 10)
		_ = c.Close()
		// What was written since the last sync is lost, and the clock with it.
		d.write(d.synced)
		d.clock = 1_000_000_000 - int64(i)*1000
	}
}

func TestTokensAfterRestartWithoutLoss(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 5)
	_ = c.Close()
	d.clock -= 500
	d.take(d.start("1"), 5)
	d.take(d.start("2"), 5)
}

// A process may be killed between any two writes of raise. These are the
// files that it can leave, in the order of its steps.
func TestTokensAfterKillBetweenSteps(t *testing.T) {
	for _, id := range []boot.ID{"1", "2"} {
		for step := range 5 {
			d := newDisk(t)
			c := d.start("1")
			d.take(c, 5)
			next := d.start(id)
			if _, err := next.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			d.last++
			w := c.m.words
			promised := w.promised.Load() + tokenStep
			if step > 0 {
				w.last.Store(max(w.last.Load(), w.limit.Load()))
				d.last = max(d.last, fence.Token(w.last.Load()))
			}
			if step > 1 {
				w.promised.Store(promised)
			}
			if step > 2 {
				w.limit.Store(promised)
			}
			if step > 3 {
				w.boot.Store(d.start("3").boot)
			}
			d.take(d.start("3"), 5)
		}
	}
}

func TestTokensOfManyProcesses(t *testing.T) {
	d := newDisk(t)
	var mu sync.Mutex
	seen := map[fence.Token]bool{}
	var all sync.WaitGroup
	for range 4 {
		c := New(d.dir, "1")
		t.Cleanup(func() { _ = c.Close() })
		for range 4 {
			all.Go(func() {
				var last fence.Token
				for range 1000 {
					token, err := c.Next(context.Background())
					if err != nil || token <= last {
						t.Errorf("token %d after %d, %v", token, last, err)
						return
					}
					last = token
					mu.Lock()
					if seen[token] {
						t.Errorf("token %d was given twice", token)
					}
					seen[token] = true
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
}

// Nothing that a stopped process has can stop the others from taking tokens
// below the limit; what it can stop, a context ends.
func TestFrozenRaise(t *testing.T) {
	d := newDisk(t)
	c, frozen := d.start("1"), d.start("1")
	d.take(c, 1)
	d.take(frozen, 1)
	if err := frozen.m.lock(context.Background()); err != nil {
		t.Fatal(err)
	}
	d.take(c, 1000)
	d.clock += 2 * tokenStep
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a token beyond the limit while it is being raised: %v", err)
	}
	frozen.m.unlock()
	d.take(c, 1)
}

// A counter that is damaged so that its limit is beyond all tokens says so, and
// gives none.
func TestCounterBeyondAllTokens(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 1)
	c.m.words.last.Store(1 << 60)
	c.m.words.limit.Store(1 << 61)
	if token, err := c.Next(context.Background()); err == nil || errors.Is(err, fencehold.ErrHeld) {
		t.Errorf("token %d, %v", token, err)
	}
}

// Closing does not wait for a process that was stopped while it raised the
// limit, and ends the wait of those who do.
func TestCloseDuringFrozenRaise(t *testing.T) {
	d := newDisk(t)
	c, frozen := d.start("1"), d.start("1")
	d.take(c, 1)
	d.take(frozen, 1)
	if err := frozen.m.lock(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer frozen.m.unlock()
	d.clock += 2 * tokenStep
	waited := make(chan error, 1)
	go func() {
		_, err := c.Next(context.Background())
		waited <- err
	}()
	for len(c.turn) == 0 {
		time.Sleep(time.Millisecond) // until it waits
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = c.Close()
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits for the frozen process")
	}
	if err := <-waited; !errors.Is(err, fencehold.ErrClosed) {
		t.Errorf("a token of a closed counter: %v", err)
	}
}

func TestFailedSyncGivesNoToken(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 1)
	good, bad := c.sync, errors.New("the disk is broken")
	c.sync = func() error { return bad }
	d.clock += 2 * tokenStep
	for range 3 {
		if token, err := c.Next(context.Background()); !errors.Is(err, bad) {
			t.Errorf("token %d above the durable limit, %v", token, err)
		}
	}
	c.sync = good
	d.take(c, 1)
}

func TestWildClock(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 1)
	before := d.last
	d.clock = int64(fence.MaxToken)
	d.take(c, 10)
	if d.last != before+10 {
		t.Errorf("token %d follows a clock of the year 2255", d.last)
	}
	d.clock = -1
	d.take(c, 10)
}

func TestTokensUsedUp(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 1)
	c.m.words.last.Store(uint64(fence.MaxToken) - 1)
	c.m.words.limit.Store(0)
	if token, err := c.Next(context.Background()); err == nil {
		t.Errorf("token %d after the last one", token)
	}
}

func TestRemovedCounterBeginsAtTheClock(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 1)
	if err := os.RemoveAll(d.dir.State()); err != nil {
		t.Fatal(err)
	}
	d.clock += 1000
	c.looked.Store(-int64(time.Second))
	d.take(c, 1)
	if _, err := os.Stat(d.path()); err != nil {
		t.Error(err)
	}
	d.take(d.start("1"), 1)
}

func TestDamagedCounter(t *testing.T) {
	for name, content := range map[string][]byte{
		"empty":        {},
		"short":        make([]byte, 8),
		"long":         make([]byte, counterSize+1),
		"zeros":        make([]byte, counterSize),
		"other format": append([]byte("12345678"), make([]byte, counterSize-8)...),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			if err := d.dir.Mkdir(d.dir.State()); err != nil {
				t.Fatal(err)
			}
			d.write(content)
			var pathErr *fs.PathError
			if token, err := d.start("1").Next(context.Background()); !errors.As(err, &pathErr) {
				t.Errorf("token %d, %v", token, err)
			}
		})
	}
}

// Another process cuts the file short while it is mapped: that is an error,
// not the end of the process.
func TestTruncatedWhileMapped(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 1)
	if err := os.Truncate(d.path(), 0); err != nil {
		t.Fatal(err)
	}
	var pathErr *fs.PathError
	if token, err := c.Next(context.Background()); !errors.As(err, &pathErr) {
		t.Errorf("token %d, %v", token, err)
	}
	word := c.Crowd("job.line")
	if _, may := word.MayWait(); !may {
		t.Error("nobody may wait, says a file that is not there")
	}
}

func TestClosedCounter(t *testing.T) {
	d := newDisk(t)
	c := d.start("1")
	d.take(c, 1)
	_ = c.Close()
	if token, err := c.Next(context.Background()); err == nil {
		t.Errorf("token %d of a closed counter", token)
	}
}

func TestCrowd(t *testing.T) {
	d := newDisk(t)
	c, other := d.start("1"), d.start("1")
	word, same := c.Crowd("job.line"), other.Crowd("job.line")
	if _, may := word.MayWait(); !may {
		t.Error("nobody may wait, says one who cannot know")
	}
	d.take(c, 1)
	if _, may := word.MayWait(); may {
		t.Error("somebody may wait at first")
	}
	if err := same.Set(context.Background()); err != nil {
		t.Fatal(err)
	}
	seen, may := word.MayWait()
	if !may {
		t.Error("nobody may wait after set")
	}
	word.Clear(seen)
	if _, may := same.MayWait(); may {
		t.Error("somebody may wait after clear")
	}
	// One who looked before the last set must not clear it.
	if err := same.Set(context.Background()); err != nil {
		t.Fatal(err)
	}
	word.Clear(seen)
	if _, may := word.MayWait(); !may {
		t.Error("an old look has cleared the word")
	}
}
