package counter

import (
	"context"
	"runtime/debug"
	"strconv"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
)

// exclusively keeps the other goroutines out; the lock on the file that raise
// takes does so with the other processes.
func (c *Counter) exclusively(ctx context.Context, step func(context.Context) error) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)() //nolint:contextcheck // the life of the counter ends the wait too
	err := c.inTurn(waiting, step)
	if err != nil && c.life.Err() != nil && ctx.Err() == nil {
		return fencehold.ErrClosed
	}
	return err
}

func (c *Counter) inTurn(ctx context.Context, step func(context.Context) error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	return step(ctx)
}

// raise makes the next tokens durable, unless another process just did.
func (c *Counter) raise(ctx context.Context) (err error) {
	// The mapping must not go while its file is locked. So Close waits for the
	// end of this, which it brings about where another process was stopped
	// while it raised the limit.
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.m == nil {
		return nil
	}
	if err := c.m.lock(ctx); err != nil {
		return err
	}
	defer c.m.unlock()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverFault(&err)
	w := c.m.words
	if w.boot.Load() != c.boot {
		// After a power cut any of the three may be an old one. Promised was on
		// the disk before the first token that needed it was given, so no token
		// was above all three. Nobody takes tokens before boot is written.
		w.last.Store(max(w.last.Load(), w.promised.Load(), w.limit.Load()))
	} else if c.after(w.last.Load()) <= w.limit.Load() {
		return nil
	}
	return c.promise(w)
}

// promise puts the limit on the disk before any process can see it.
func (c *Counter) promise(w *counterWords) error {
	last := w.last.Load()
	promised := max(w.promised.Load(), c.after(last)+tokenStep)
	if promised > uint64(fence.MaxToken) {
		return c.damaged("tokens are used up at " + strconv.FormatUint(last, 10))
	}
	// The sync is between the two: a limit that can be seen is on the disk, as
	// promised. Whoever is killed on the way leaves promised too high, which
	// costs numbers and nothing else.
	w.promised.Store(promised)
	if err := c.sync(); err != nil {
		return err
	}
	// Boot goes last: it is what lets the others take tokens.
	w.limit.Store(promised)
	w.boot.Store(c.boot)
	return nil
}
