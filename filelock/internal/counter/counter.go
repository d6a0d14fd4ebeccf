// Package counter is what the processes of a directory share in memory: the
// page of a file that they all map, with the counter of the tokens, and the
// words that say where somebody may wait.
package counter

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
	"github.com/fencehold/fencehold/filelock/internal/boot"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
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

	// lookEvery is how often a counter looks whether its file has lost its
	// name: a call of the system costs more than the rest of a token.
	lookEvery = 100 * time.Millisecond
)

var (
	errLimit = errors.New("the durable limit is reached")
	errGone  = errors.New("the file was removed")
)

// A Counter hands out the tokens of a directory. Its file is mapped, and a
// token is taken from it by compare-and-swap, so that no process can stop
// another in the middle of the step. What is on the disk may be older than
// what is mapped; only the limit is made durable, before a token beyond the
// old limit is given. After a restart of the machine tokens begin above the
// limit, and so above all that were given.
type Counter struct {
	dir  *lockdir.Dir
	path string
	boot uint64
	now  func() int64 // microseconds
	sync func() error // makes the mapping durable

	start  time.Time
	looked atomic.Int64 // when removed last looked, in nanoseconds after start

	turn chan struct{} // held by the goroutine that raises the limit or opens the file

	life context.Context // ends with Close, and with it every wait for another process
	stop context.CancelFunc

	mu  sync.RWMutex // writers map and unmap
	m   *mapping     // nil until the first token is asked for
	end bool
}

// counterWords is the file, in the byte order of the machine. Boot is written
// last, so that a process killed in between leaves a counter that the next one
// begins anew.
type counterWords struct {
	magic    atomic.Uint64
	boot     atomic.Uint64 // hash of the id of the boot that last and limit belong to
	last     atomic.Uint64 // the last token given
	promised atomic.Uint64 // no token above it was given; durable before limit
	limit    atomic.Uint64 // the tokens up to here may be given
	_        [3]uint64
	crowds   [crowds]atomic.Uint64
}

// New returns the counter of a directory for a process in this boot. It opens
// nothing before the first token is asked for, so that looking needs no
// permission to write.
func New(dir *lockdir.Dir, id boot.ID) *Counter {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	c := &Counter{
		dir:   dir,
		path:  filepath.Join(dir.State(), counterFile),
		boot:  sum.Sum64(),
		now:   func() int64 { return time.Now().UnixMicro() },
		start: time.Now(),
		turn:  make(chan struct{}, 1),
	}
	c.sync = func() error { return c.m.sync() }
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// Next returns a token larger than all before it. It asks for the disk once in
// ten seconds, or in ten million tokens. Only then can another process hold it
// up: one that was stopped while it did the same; ctx ends that wait.
func (c *Counter) Next(ctx context.Context) (fence.Token, error) {
	for {
		token, err := c.mint()
		// What is mended here may be broken again before the next try: only
		// mint decides.
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
func (c *Counter) mint() (token fence.Token, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.m == nil || c.removed() {
		return 0, errGone
	}
	// Who cuts the file short makes every touch of the page a fault, which
	// would end the process.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverFault(&err)
	w := c.m.words
	if w.boot.Load() != c.boot {
		return 0, errLimit
	}
	for {
		last := w.last.Load()
		next := c.after(last)
		// A limit that is seen is on the disk, however old the reading: it only
		// rises.
		if next > w.limit.Load() {
			return 0, errLimit
		}
		if next > uint64(fence.MaxToken) {
			return 0, c.damaged("tokens are used up at " + strconv.FormatUint(last, 10))
		}
		if w.last.CompareAndSwap(last, next) {
			return fence.Token(next), nil
		}
	}
}

// removed reports whether the file has lost its name. It does not look every
// time, so for a tenth of a second tokens may come from a file that was removed
// and from the next one too; both follow the clock.
func (c *Counter) removed() bool {
	now := int64(time.Since(c.start))
	if last := c.looked.Load(); now-last < int64(lookEvery) {
		return false
	}
	c.looked.Store(now)
	return c.m.removed()
}

// after is the token that follows last: the clock's, where that is larger.
func (c *Counter) after(last uint64) uint64 {
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
	// Only faults of the memory have an address. All else is an error of this
	// program, and stays one.
	if _, isFault := r.(interface{ Addr() uintptr }); !isFault {
		panic(r)
	}
	*err = errGone
}

// reopen maps the file, and makes it if there is none.
func (c *Counter) reopen(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.end:
		return fencehold.ErrClosed
	case c.m != nil && !c.m.removed() && c.m.size() == counterSize:
		// Another goroutine was here first.
		return nil
	case c.m != nil:
		c.m.close()
		c.m = nil
	}
	m, err := openMapping(c.path)
	// Create leaves the file of one who was quicker alone: then it is theirs
	// that is opened.
	if errors.Is(err, fs.ErrNotExist) {
		if err := c.dir.Create(c.path, emptyCounter()); err != nil {
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
func (c *Counter) opened() bool {
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
func (c *Counter) damaged(what string) error {
	return &fs.PathError{Op: "use", Path: c.path, Err: errors.New(
		what + ": if no data is guarded by tokens above the clock in microseconds, remove the file")}
}

// Close unmaps the file once nobody uses it. No token is given after that.
func (c *Counter) Close() error {
	c.stop() // those who wait for another process have what Lock waits for
	c.mu.Lock()
	defer c.mu.Unlock()
	// An address that is unmapped may be mapped again for something else: those
	// who still come must find nothing to write to.
	c.end = true
	if c.m != nil {
		c.m.close()
		c.m = nil
	}
	return nil
}
