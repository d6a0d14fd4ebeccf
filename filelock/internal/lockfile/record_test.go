//go:build unix

package lockfile_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/boot"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
	"github.com/fencehold/fencehold/filelock/internal/lockfile"
)

// newFile makes a lock file in a directory of its own.
func newFile(t *testing.T) *lockfile.File {
	t.Helper()
	dir, err := lockdir.Open(t.TempDir())
	check(t, err)
	f, err := lockfile.OpenOrMake(dir, "job")
	check(t, err)
	t.Cleanup(f.Close)
	return f
}

// written returns the content of a file after a record was written to it.
func written(t *testing.T, f *lockfile.File, rec lockfile.Record) string {
	t.Helper()
	check(t, f.Guard(context.Background()))
	defer f.Unguard()
	_, err := f.Read()
	check(t, err)
	check(t, f.Write(rec))
	content, err := os.ReadFile(f.Path())
	check(t, err)
	return string(content)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordHalfOldHalfNew(t *testing.T) {
	f := newFile(t)
	old := written(t, f, lockfile.Record{Mode: lockfile.LeaseMode, Name: "job", Holder: "AAAA"})
	line := written(t, f, lockfile.Record{Mode: lockfile.LeaseMode, Name: "job", Holder: "BBBB"})
	if len(line) != len(old) {
		t.Fatalf("records of %d and of %d bytes", len(old), len(line))
	}
	for i := range line {
		torn := line[:i] + old[i:]
		check(t, os.WriteFile(f.Path(), []byte(torn), 0o600))
		for what, read := range map[string]func() (lockfile.Record, error){"read": f.Read, "standing": f.Standing} {
			rec, err := read()
			check(t, err)
			switch {
			case torn == old && rec.Holder == "AAAA", torn == line && rec.Holder == "BBBB":
			case torn == old || torn == line || rec.Version != 0 || rec.Holder != "":
				t.Errorf("%s, torn at %d: taken for %+v", what, i, rec)
			}
		}
	}
}

func TestRecordHasOneLineOfOneLength(t *testing.T) {
	f := newFile(t)
	id, err := boot.Read()
	check(t, err)
	want := lockfile.Record{
		Mode: lockfile.LeaseMode, Name: "job", Holder: driver.NewHolder(), Token: 1, Owner: "me\nyou",
		Host: "host.example", PID: os.Getpid(), Since: time.Now().Round(0), TTL: time.Second.String(),
		Until: id.In(time.Second),
	}
	line := written(t, f, want)
	if len(line) != 512 || strings.Count(line, "\n") != 1 {
		t.Errorf("record of %d bytes: %s", len(line), line)
	}
	rec, err := f.Read()
	check(t, err)
	if rec.Owner != want.Owner || rec.Holder != want.Holder || rec.PID != os.Getpid() || rec.Version != 1 ||
		*rec.Until != *want.Until {
		t.Errorf("decoded as %+v", rec)
	}
	line = written(t, f, lockfile.Record{Mode: lockfile.ProcessMode, Holder: "H"})
	if !strings.HasPrefix(line, `{"v":1,"mode":"process"`) {
		t.Errorf("record of process mode: %s", line)
	}
	// One of process mode says nothing to who has the lock.
	if rec, err := f.Standing(); err != nil || rec.Holder != "" {
		t.Errorf("standing record of process mode: %+v, %v", rec, err)
	}
}

// The record of another version is not taken for nobody's: it may be a lease
// that stands.
func TestRecordOfAnotherVersion(t *testing.T) {
	f := newFile(t)
	body := `{"v":2,"mode":"lease","name":"job","holder":"AAAA"}`
	sum := crc32.ChecksumIEEE([]byte(body))
	line := fmt.Sprintf(`%s,"crc":"%08x"}`, strings.TrimSuffix(body, "}"), sum)
	check(t, os.WriteFile(f.Path(), []byte(line), 0o600))
	if rec, err := f.Standing(); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("read as %+v, %v", rec, err)
	}
	check(t, os.WriteFile(f.Path(), []byte("garbage"), 0o600))
	if _, err := f.Standing(); err != nil {
		t.Errorf("garbage: %v", err)
	}
}
