//go:build unix

package lockdir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

func openDir(t *testing.T, mode fs.FileMode) *lockdir.Dir {
	t.Helper()
	path := t.TempDir()
	check(t, os.Chmod(path, mode))
	dir, err := lockdir.Open(path)
	check(t, err)
	return dir
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCreateLeavesWhatIsThere(t *testing.T) {
	dir := openDir(t, 0o700)
	path := filepath.Join(dir.State(), "file")
	check(t, dir.Create(path, []byte("first")))
	check(t, dir.Create(path, []byte("second")))
	content, err := os.ReadFile(path)
	check(t, err)
	if string(content) != "first" {
		t.Errorf("a file that was there is %q now", content)
	}
	entries, err := os.ReadDir(dir.State())
	check(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestModes(t *testing.T) {
	for mode, want := range map[fs.FileMode]fs.FileMode{
		0o700: 0o600, 0o755: 0o600, 0o770: 0o660, 0o777: 0o666, 0o775: 0o660,
	} {
		dir := openDir(t, mode)
		path := filepath.Join(dir.State(), "file")
		check(t, dir.Create(path, nil))
		for path, want := range map[string]fs.FileMode{path: want, dir.State(): mode} {
			info, err := os.Stat(path)
			check(t, err)
			if got := info.Mode().Perm(); mode&0o022 != 0 && got != want || got&^want != 0 {
				t.Errorf("in a directory of mode %v: %s has %v, want %v", mode, filepath.Base(path), got, want)
			}
		}
		if dir.FileMode() != want {
			t.Errorf("files in a directory of mode %v: %v, want %v", mode, dir.FileMode(), want)
		}
	}
}

func TestMkdirTwice(t *testing.T) {
	for _, mode := range []fs.FileMode{0o700, 0o777} {
		dir := openDir(t, mode)
		check(t, dir.Mkdir(dir.State()))
		path := filepath.Join(dir.State(), "job.line")
		check(t, dir.Mkdir(path))
		check(t, os.WriteFile(filepath.Join(path, "ticket"), nil, 0o600))
		check(t, dir.Mkdir(path))
		if _, err := os.Stat(filepath.Join(path, "ticket")); err != nil {
			t.Errorf("mode %v: a directory that was there is not left alone: %v", mode, err)
		}
		if err := dir.Mkdir(filepath.Join(path, "no", "parent")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("mode %v: a directory without its parent: %v", mode, err)
		}
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(path, nil, 0o600))
	check(t, lockdir.Remove(path))
	check(t, lockdir.Remove(path))
	if err := lockdir.Remove(path + "\x00"); err == nil {
		t.Error("what cannot be removed is taken for removed")
	}
}

func TestOpenDescriptorFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	check(t, os.WriteFile(file, nil, 0o600))
	check(t, os.Symlink(file, link))
	fd, err := lockdir.OpenDescriptor(file, syscall.O_RDONLY)
	check(t, err)
	check(t, syscall.Close(fd))
	var pathErr *fs.PathError
	if _, err := lockdir.OpenDescriptor(link, syscall.O_RDONLY); !errors.As(err, &pathErr) || pathErr.Path != link {
		t.Errorf("a link is followed: %v", err)
	}
}

// What root makes in the directory of another user is that user's, or it would
// keep them out. Everybody else makes files of their own.
func TestOwnerOfWhatIsMade(t *testing.T) {
	path := t.TempDir()
	want := os.Geteuid()
	if want == 0 {
		want = 65534
		if err := os.Chown(path, want, want); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := lockdir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	file, sub := filepath.Join(path, "x.lock"), filepath.Join(dir.State(), "sub")
	if err := dir.Create(file, nil); err != nil {
		t.Fatal(err)
	}
	if err := dir.Mkdir(sub); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{file, dir.State(), sub} {
		info, err := os.Lstat(made)
		if err != nil {
			t.Fatal(err)
		}
		if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != want {
			t.Errorf("%s belongs to %d, want %d", made, uid, want)
		}
	}
}
