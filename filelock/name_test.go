//go:build unix

package filelock_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencehold/fencehold"
)

// files lists everything in a directory but what the backend keeps for itself.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.Name() == ".fencehold" {
			return fs.SkipDir
		}
		if path != dir {
			rel, relErr := filepath.Rel(dir, path)
			check(t, relErr)
			all = append(all, rel)
		}
		return err
	}))
	return all
}

func TestB57Names(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "locks")
	b := newBackend(t, dir, nil)
	long := strings.Repeat("x", 299)
	names := []string{
		" ", "a", " a", "a ", "A", "x/y", "../../x", ".", "..", "/", "%41", "%", "%~", "~", "-", ".fencehold", "a.lock",
		"e\u0301", "\u00e9", "nul", "a\u2028b", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65),
		strings.Repeat("a", 249), strings.Repeat("a", 250), strings.Repeat("a", 255), strings.Repeat("a", 256),
		strings.Repeat("/", 83), strings.Repeat("/", 84), long + "1", long + "2", strings.Repeat("\u00e9", 256),
	}
	held := map[string]bool{}
	for _, name := range names {
		acquire(t, b, name)
		held[name] = true
	}
	for h, err := range b.List(t.Context(), "") {
		check(t, err)
		if !held[h.Name] {
			t.Errorf("%q is listed, twice or out of the blue", h.Name)
		}
		delete(held, h.Name)
	}
	for name := range held {
		t.Errorf("%q is not listed", name)
	}
	if tree := files(t, parent); len(tree) != len(names)+1 {
		t.Errorf("%d files for %d names: %q", len(tree)-1, len(names), tree)
	}
}

func TestB57RefusedNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	for _, name := range []string{"", "a\nb", "a\x00", "\xff", "\u0085", strings.Repeat("x", 513), strings.Repeat("x", 10_000)} {
		if _, err := b.TryAcquire(t.Context(), request(name)); !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("%.20q: %v", name, err)
		}
		if _, err := b.Inspect(t.Context(), name); !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("inspect %.20q: %v", name, err)
		}
	}
	if tree := files(t, dir); len(tree) > 0 {
		t.Errorf("refused names left %q", tree)
	}
}

func TestPlainNamesAreFileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBackend(t, dir, nil)
	for _, name := range []string{"job", "a.b-c_d9", "db.migrate"} {
		grant := acquire(t, b, name)
		if _, err := os.Stat(lockFile(dir, name)); err != nil {
			t.Error(err)
		}
		release(t, b, grant)
	}
}

func TestHugeOwnerIsRefused(t *testing.T) {
	t.Parallel()
	b := newBackend(t, t.TempDir(), nil)
	req := request("job")
	req.Labels = map[string]string{"huge": strings.Repeat("x", 5000)}
	if _, err := b.TryAcquire(t.Context(), req); !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("labels that the record cannot take: %v", err)
	}
	release(t, b, acquire(t, b, "job"))
}
