// Package filelock is the embedded lock service: locks between the processes
// of one machine, in a directory of files, without a server.
//
// Importing it makes [fencehold.Open] take these URLs:
//
//	file://                    the default directory, see [DefaultDir]
//	file:///var/lib/locks      this directory
//	file:///var/lib/locks?mode=lease
//
// A lock NAME is the file NAME.lock under flock(2), so that the command
// flock(1) contends for it too. There are two ways to hold it:
//
//   - In process mode, the default, the kernel keeps the lock for as long as
//     the process lives: it is free at once when the process dies, whatever it
//     died of, and a paused process still holds it. The TTL plays no part.
//   - In lease mode the file says until when the lock is held, so that the
//     grant outlives its process until the TTL is over. [fencehold.WithDetached]
//     asks for it, ?mode=lease makes it the rule. flock(1) does not see such a
//     grant.
//
// Tokens come from a counter shared by the whole directory, and rise across
// crashes and power cuts. Waiters are served in the order in which they came.
//
// The directory must be on a local file system: one that is shared between
// machines is refused. Linux is the platform that is tested; macOS and Windows
// are supported as far as docs/design/filelock.md says.
package filelock

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/boot"
	"github.com/fencehold/fencehold/filelock/internal/counter"
	"github.com/fencehold/fencehold/filelock/internal/line"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// minTTL is the shortest TTL that is taken.
const minTTL = 100 * time.Millisecond

// Options adjust a backend. The zero value and nil mean the defaults.
type Options struct {
	// Lease makes every grant one of lease mode: it outlives the process by
	// up to its TTL. By default only detached grants do.
	Lease bool
}

// init makes the scheme known to fencehold.Open.
func init() { fencehold.Register("file", open) }

// DefaultDir returns the directory of the URL file://, which is
// .local/state/fencehold in the home directory that the user database has for
// the effective user. The environment plays no part: a cron job, a service and
// a shell of one user find the same locks.
func DefaultDir() (string, error) { return lockdir.Default() }

// New returns a backend that keeps its locks in dir, an absolute path, or in
// [DefaultDir] if dir is empty. A missing directory is made if its parent
// exists, with all parents in the case of the default. What is wrong with the
// directory is reported as an [*io/fs.PathError].
func New(dir string, opts *Options) (driver.Backend, error) {
	if opts == nil {
		opts = &Options{}
	}
	d, err := lockdir.Open(dir)
	if err != nil {
		return nil, err
	}
	id, err := boot.Read()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancelCause(context.Background())
	return &backend{
		dir:     d,
		lease:   opts.Lease,
		boot:    id,
		host:    host,
		pid:     os.Getpid(),
		counter: counter.New(d, id),
		life:    life,
		end:     end,
		holds:   map[string]*hold{},
	}, nil
}

// backend implements all abilities of package driver but the batch of
// renewals: nothing is saved by renewing two files together.
type backend struct {
	dir     *lockdir.Dir
	lease   bool
	boot    boot.ID
	host    string
	pid     int
	counter *counter.Counter

	life context.Context // ends with Close
	end  context.CancelCauseFunc

	mu    sync.Mutex
	holds map[string]*hold // grants of process mode, by holder
}

var (
	_ driver.Backend          = (*backend)(nil)
	_ driver.Queuer           = (*backend)(nil)
	_ driver.Checker          = (*backend)(nil)
	_ driver.Resumer          = (*backend)(nil)
	_ driver.DescriptorHolder = (*backend)(nil)
	_ driver.Inspector        = (*backend)(nil)
	_ driver.Revoker          = (*backend)(nil)
)

// Info implements [driver.Backend].
func (b *backend) Info() driver.Info {
	return driver.Info{
		Kind:     "file",
		URL:      formatURL(b.dir.Path(), b.lease),
		Features: driver.Fencing | driver.Durable | driver.FairQueue | driver.MinHold | driver.Detached,
		MinTTL:   minTTL,
	}
}

// Close implements [driver.Backend]. It ends the grants of process mode that
// this backend still has, as the end of the process would.
func (b *backend) Close() error {
	b.mu.Lock()
	if b.life.Err() != nil {
		b.mu.Unlock()
		return nil
	}
	// First, so that no hold is added to those that are ended here.
	b.end(fencehold.ErrClosed)
	holds := b.holds
	b.holds = nil
	b.mu.Unlock()
	for _, h := range holds {
		h.drop()
		b.line(h.grant.Name).Wake()
	}
	// Last: the counter has the words that Wake asks.
	return b.counter.Close()
}

// line returns the line of a lock.
func (b *backend) line(name string) *line.Line { return b.lineOf(b.dir.LockPath(name)) }

// lineOf returns the line of the lock file at path.
func (b *backend) lineOf(path string) *line.Line { return line.Of(b.dir, b.counter, path) }

// closed returns ErrClosed once Close was called.
func (b *backend) closed() error {
	if b.life.Err() != nil {
		return fencehold.ErrClosed
	}
	return nil
}
