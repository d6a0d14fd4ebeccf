package filelock

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
)

const (
	counterFile  = "tokens"
	counterMagic = 0x6674_6f6b_656e_7331 // "ftokens1"
	counterSize  = 4096                  // one page

	// tokenStep is how many tokens are made durable at once: ten seconds'
	// worth, since tokens follow the clock in microseconds.
	tokenStep = 10_000_000
	// saneClock is the last clock reading in microseconds that tokens
	// follow, in the year 2112: one wild reading must not use them all up.
	saneClock = 1 << 52
)

var (
	errLimit = errors.New("the durable limit is reached")
	errGone  = errors.New("the file was removed")
)

// A counter hands out the tokens of a directory. Its file is mapped, and a
// token is taken from it by compare-and-swap, so that no process can stop
// another in the middle of the step. What is on the disk may be older than
// what is mapped; only the limit is made durable, before a token beyond the
// old limit is given. After a restart of the machine tokens begin above the
// limit, and so above all that were given.
type counter struct {
	dir  *directory
	path string
	boot uint64
	now  func() int64 // microseconds
	sync func() error // makes the mapping durable

	start  time.Time
	looked atomic.Int64 // when removed last looked, in nanoseconds after start

	turn chan struct{} // held by the goroutine that raises the limit or opens the file

	mu  sync.RWMutex // writers map and unmap
	m   *mapping     // nil until the first token is asked for
	end bool
}

// counterWords is the file, in the byte order of the machine. Boot is written last, so that a process killed in
// between leaves a counter that the next one begins anew.
type counterWords struct {
	magic    atomic.Uint64
	boot     atomic.Uint64 // hash of the id of the boot that last and limit belong to
	last     atomic.Uint64 // the last token given
	promised atomic.Uint64 // no token above it was given; durable before limit
	limit    atomic.Uint64 // the tokens up to here may be given
	_        [3]uint64
	crowds   [crowds]atomic.Uint64
}

// newCounter returns the counter of a directory for a process in this boot. It
// opens nothing before the first token is asked for, so that looking needs no
// permission to write.
func newCounter(dir *directory, boot string) *counter {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(boot))
	c := &counter{
		dir:   dir,
		path:  filepath.Join(dir.state, counterFile),
		boot:  sum.Sum64(),
		now:   func() int64 { return time.Now().UnixMicro() },
		start: time.Now(),
		turn:  make(chan struct{}, 1),
	}
	c.sync = func() error { return c.m.sync() }
	return c
}

// next returns a token larger than all before it. It asks for the disk once
// in [tokenStep] tokens or ten seconds.
func (c *counter) next(ctx context.Context) (fence.Token, error) {
	for {
		token, err := c.mint()
		switch {
		case err == nil:
			return token, nil
		case errors.Is(err, errLimit):
			err = c.exclusively(ctx, c.raise)
		case errors.Is(err, errGone):
			err = c.exclusively(ctx, c.reopen)
		}
		if err != nil {
			return 0, err
		}
	}
}

// mint takes the next token, up to the limit.
func (c *counter) mint() (token fence.Token, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.m == nil || c.removed() {
		return 0, errGone
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverFault(&err)
	w := c.m.words
	if w.boot.Load() != c.boot {
		return 0, errLimit
	}
	for {
		last := w.last.Load()
		next := c.after(last)
		if next > w.limit.Load() {
			return 0, errLimit
		}
		if w.last.CompareAndSwap(last, next) {
			return fence.Token(next), nil
		}
	}
}

// removed reports whether the file has lost its name. It looks ten times a
// second at most: a call of the system costs more than the rest of a token.
func (c *counter) removed() bool {
	now := int64(time.Since(c.start))
	if last := c.looked.Load(); now-last < int64(100*time.Millisecond) {
		return false
	}
	c.looked.Store(now)
	return c.m.removed()
}

// after is the token that follows last: the clock's, where that is larger.
func (c *counter) after(last uint64) uint64 {
	next := last + 1
	if now := c.now(); now < saneClock && now > int64(next) {
		next = uint64(now)
	}
	return next
}

// recoverFault turns the fault of a file that was cut short under its mapping
// into an error.
func recoverFault(err *error) {
	r := recover()
	if r == nil {
		return
	}
	if _, isFault := r.(interface{ Addr() uintptr }); !isFault {
		panic(r)
	}
	*err = errGone
}

// exclusively keeps the other goroutines out; the lock on the file that raise
// takes does so with the other processes.
func (c *counter) exclusively(ctx context.Context, step func(context.Context) error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	return step(ctx)
}

// raise makes the next tokens durable, unless another process just did.
func (c *counter) raise(ctx context.Context) (err error) {
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
		// Nobody takes tokens before boot is written.
		w.last.Store(max(w.last.Load(), w.promised.Load(), w.limit.Load()))
	} else if c.after(w.last.Load()) <= w.limit.Load() {
		return nil
	}
	return c.promise(w)
}

// promise puts the limit on the disk before any process can see it.
func (c *counter) promise(w *counterWords) error {
	last := w.last.Load()
	promised := max(w.promised.Load(), c.after(last)+tokenStep)
	if promised > uint64(fence.MaxToken) {
		return c.damaged("tokens are used up at " + strconv.FormatUint(last, 10))
	}
	w.promised.Store(promised)
	if err := c.sync(); err != nil {
		return err
	}
	w.limit.Store(promised)
	w.boot.Store(c.boot)
	return nil
}

// reopen maps the file, and makes it if there is none.
func (c *counter) reopen(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.end:
		return fencehold.ErrClosed
	case c.m != nil && !c.m.removed() && c.m.size() == counterSize:
		return nil
	case c.m != nil:
		c.m.close()
		c.m = nil
	}
	m, err := openMapping(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := c.dir.create(c.path, emptyCounter()); err != nil {
			return err
		}
		m, err = openMapping(c.path)
	}
	if err != nil {
		return err
	}
	if m.words.magic.Load() != counterMagic {
		m.close()
		return c.damaged("not a token counter")
	}
	c.m = m
	return nil
}

// opened reports whether the file is mapped.
func (c *counter) opened() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.m != nil
}

// emptyCounter is the content of a new file. It belongs to no boot, so the first
// process begins it.
func emptyCounter() []byte {
	content := make([]byte, counterSize)
	binary.NativeEndian.PutUint64(content, counterMagic)
	return content
}

// damaged is the error for a file that cannot be used. Without it, tokens
// begin at the clock again.
func (c *counter) damaged(what string) error {
	return &fs.PathError{Op: "use", Path: c.path, Err: errors.New(
		what + ": if no data is guarded by tokens above the clock in microseconds, remove the file")}
}

// close unmaps the file once nobody uses it.
func (c *counter) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = true
	if c.m != nil {
		c.m.close()
		c.m = nil
	}
	return nil
}
