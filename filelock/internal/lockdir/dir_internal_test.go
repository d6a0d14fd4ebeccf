//go:build unix

package lockdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPrivateDirectories(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkPrivate(dir); err != nil {
		t.Error(err)
	}
	for _, mode := range []fs.FileMode{0o770, 0o702, 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		var pathErr *fs.PathError
		if err := checkPrivate(dir); !errors.As(err, &pathErr) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	// Whoever runs the test, one of these belongs to somebody else.
	other := "/"
	if os.Geteuid() == 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		other = dir
	}
	if err := checkPrivate(other); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("another user's directory: %v", err)
	}
}

func TestSweepOfUnfinishedFiles(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Mkdir(d.state); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(d.state, TempPrefix+"1"), filepath.Join(d.state, TempPrefix+"2")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	d.sweep()
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old unfinished file is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("a young unfinished file is gone: %v", err)
	}
}
