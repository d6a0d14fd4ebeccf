//go:build unix

package filelock

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

func internalBackend(t *testing.T, dir string) *backend {
	t.Helper()
	b, err := New(dir, &Options{Lease: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b.(*backend)
}

func TestLeaseOfAnotherBootIsOver(t *testing.T) {
	dir := t.TempDir()
	before := internalBackend(t, dir)
	before.boot = "an earlier one"
	req := driver.Request{Name: "job", Holder: "H", TTL: time.Hour}
	if _, err := before.TryAcquire(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	b := internalBackend(t, dir)
	if h, err := b.Inspect(context.Background(), "job"); err != nil || h.Held {
		t.Errorf("shown as %+v, %v", h, err)
	}
	if _, err := b.Resume(context.Background(), "job", "H"); !errors.Is(err, fencehold.ErrLost) {
		t.Errorf("resumed: %v", err)
	}
	req.Holder = "next"
	if _, err := b.TryAcquire(context.Background(), req); err != nil {
		t.Error(err)
	}
}

func TestRecordHalfOldHalfNew(t *testing.T) {
	old, err := record{Version: recordVersion, Mode: leaseMode, Name: "job", Holder: "AAAA"}.encode(0)
	if err != nil {
		t.Fatal(err)
	}
	line, err := record{Version: recordVersion, Mode: leaseMode, Name: "job", Holder: "BBBB"}.encode(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range line {
		torn := append(append([]byte{}, line[:i]...), old[i:]...)
		if rec, ok := decode(torn); ok && rec.Holder != "AAAA" && rec.Holder != "BBBB" {
			t.Errorf("torn at %d: %+v", i, rec)
		}
		if string(torn) != string(line) && string(torn) != string(old) {
			if rec, ok := decode(torn); ok {
				t.Errorf("torn at %d: taken for %+v", i, rec)
			}
		}
	}
}

func TestRecordHasOneLineOfOneLength(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	req := driver.Request{Name: "job", Holder: driver.NewHolder(), Owner: "me\nyou", TTL: time.Second}
	line, err := b.newRecord(req, 1, record{}).encode(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(line) != minRecord || strings.Count(string(line), "\n") != 1 {
		t.Errorf("record of %d bytes: %s", len(line), line)
	}
	if rec, ok := decode(line); !ok || rec.Owner != req.Owner || rec.Holder != req.Holder || rec.PID != os.Getpid() {
		t.Errorf("decoded as %+v", rec)
	}
	pinned := record{Version: recordVersion, Mode: processMode}
	if line, err = pinned.encode(0); err != nil || !strings.HasPrefix(string(line), processHead) {
		t.Errorf("record of process mode: %s, %v", line, err)
	}
}

func TestFileNamesAreDistinct(t *testing.T) {
	names := map[string]string{}
	for _, name := range []string{"a", "A", "%61", "a%", "%~", ".", "..", "a.", ".a", strings.Repeat("a", 300), strings.Repeat("a", 301)} {
		file := fileName(name, lockSuffix)
		if other, taken := names[file]; taken {
			t.Errorf("%q and %q are both %s", name, other, file)
		}
		names[file] = name
	}
	roundTrip := func(raw []byte) bool {
		name := strings.ToValidUTF8(string(raw), "?")
		if checkName(name) != nil {
			return true
		}
		file := fileName(name, lockSuffix)
		back, known := lockName(file)
		return len(file) <= maxFileName && !strings.ContainsAny(file, "/\x00") && file[0] != '.' &&
			(back == name || !known && strings.Contains(file, hashMark))
	}
	if err := quick.Check(roundTrip, &quick.Config{MaxCount: 5000}); err != nil {
		t.Error(err)
	}
}

func TestTicketsTellTheirWaiters(t *testing.T) {
	b := internalBackend(t, t.TempDir())
	who := driver.Waiter{Owner: "ann, 50% \u00e9/" + strings.Repeat("\u00e9", 100), Host: "host.example", PID: 4711}
	p, err := b.line("job").join(context.Background(), who)
	if err != nil {
		t.Fatal(err)
	}
	defer p.leave()
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
	b := internalBackend(t, t.TempDir())
	l := b.line("job")
	first, err := l.join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	first.leave()
	ahead := time.Now().Add(time.Hour).UnixMicro()
	first.ticket = ticket{file: "000fffffffffffff,AAAAAAAA,1,,", number: ahead}
	if err := first.show(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer first.leave()
	second, err := l.join(context.Background(), driver.Waiter{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.leave()
	if n, front, err := second.ahead(context.Background()); err != nil || n != 1 || front.file != first.file {
		t.Errorf("%d are ahead of the second one, the first is %v, %v", n, front, err)
	}
}
