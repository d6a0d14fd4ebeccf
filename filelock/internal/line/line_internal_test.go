//go:build unix

package line

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/counter"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// newLine returns the line of a lock in a directory of its own.
func newLine(t *testing.T) *Line {
	t.Helper()
	dir, err := lockdir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tokens := counter.New(dir, "1")
	t.Cleanup(func() { _ = tokens.Close() })
	return Of(dir, tokens, dir.LockPath("job"))
}

func TestTicketsTellTheirWaiters(t *testing.T) {
	l := newLine(t)
	who := driver.Waiter{Owner: "ann, 50% \u00e9/" + strings.Repeat("\u00e9", 100), Host: "host.example", PID: 4711}
	p, err := l.Join(context.Background(), who)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Leave()
	got := p.waiter()
	if got.PID != who.PID || got.Host != who.Host || !strings.HasPrefix(who.Owner, got.Owner) || len(got.Owner) < 20 {
		t.Errorf("ticket %q tells %+v", p.file, got)
	}
	if age := time.Since(got.Since); age < 0 || age > time.Minute {
		t.Errorf("ticket is %v old", age)
	}
	for _, file := range []string{"", "0000000000000001", "0000000000000001,a,b,%,%2"} {
		_ = ticket{file: file}.waiter()
	}
}

func TestTicketNumbersRiseWhenTheClockIsSetBack(t *testing.T) {
	l := newLine(t)
	first, err := l.Join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	first.Leave()
	ahead := time.Now().Add(time.Hour).UnixMicro()
	first.ticket = ticket{file: "000fffffffffffff,AAAAAAAA,1,,", number: ahead}
	if err := first.show(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer first.Leave()
	second, err := l.Join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Leave()
	if n, front, err := second.Ahead(context.Background()); err != nil || n != 1 || front.file != first.file {
		t.Errorf("%d are ahead of the second one, the first is %v, %v", n, front, err)
	}
}

// A waiter may be killed between making its pipe and showing its ticket.
func TestSweepOfUnfinishedTickets(t *testing.T) {
	l := newLine(t)
	p, err := l.Join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(l.path, lockdir.TempPrefix+"0006617f0a97981a,AAAAAAAA")
	bell, err := hangBell(l.dir, temp+"x", temp)
	if err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(temp, past, past); err != nil {
		t.Fatal(err)
	}
	p.line.Wake()
	if _, err := os.Lstat(temp); err != nil {
		t.Errorf("the pipe of a living waiter is gone: %v", err)
	}
	bell.close()
	p.line.Wake()
	if _, err := os.Lstat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pipe of a dead waiter is still there: %v", err)
	}
	p.Leave()
	if _, err := os.Lstat(l.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the line is still there: %v", err)
	}
}

// What is in the line and no bell, or a line that is none, holds nobody up.
func TestLineOfOtherThings(t *testing.T) {
	l := newLine(t)
	p, err := l.Join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(l.path, "0000000000000001,AAAAAAAA,1,h,o")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	if n, front, err := p.Ahead(context.Background()); err != nil || front != nil {
		t.Errorf("%d ahead, %v before the one who waits, %v", n, front, err)
	}
	p.Leave()
	_ = os.RemoveAll(l.path)
	if err := syscall.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Waiters(); err == nil {
		t.Error("a pipe in place of the line is no error")
	}
}

// A ring that is dated in the future, since the clock was set back, counts as
// an old one: its waiter is passed over until it answers.
func TestRingFromTheFuture(t *testing.T) {
	l := newLine(t)
	p, err := l.Join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Leave()
	path := filepath.Join(l.path, p.file)
	if got := look(path, true); got != alive {
		t.Fatalf("a waiter that was just rung is %v", got)
	}
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, future, future); err != nil {
		t.Fatal(err)
	}
	if got := look(path, false); got != frozen {
		t.Errorf("a waiter that was rung in the future is %v", got)
	}
}
