//go:build unix

package filelock_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/filelock"
)

func TestDefaultDirIgnoresTheEnvironment(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USER", "nobody")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	check(t, err)
	dir, err := filelock.DefaultDir()
	check(t, err)
	if want := filepath.Join(u.HomeDir, ".local", "state", "fencehold"); dir != want {
		t.Errorf("default directory %s, want %s", dir, want)
	}
}

func TestDirectoriesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	check(t, os.WriteFile(file, nil, 0o600))
	linked := filepath.Join(dir, "linked")
	check(t, os.Mkdir(linked, 0o700))
	check(t, os.Symlink(dir, filepath.Join(linked, ".fencehold")))
	for _, path := range []string{file, filepath.Join(file, "below"), filepath.Join(dir, "no", "parent"), linked} {
		var pathErr *fs.PathError
		if _, err := filelock.New(path, nil); !errors.As(err, &pathErr) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := filelock.New("locks", nil); !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("relative directory: %v", err)
	}
}

func TestDirectoryIsMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "locks")
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	for path, want := range map[string]fs.FileMode{
		dir: 0o700, filepath.Join(dir, ".fencehold"): 0o700, lockFile(dir, "job"): 0o600,
		filepath.Join(dir, ".fencehold", "tokens"): 0o600,
	} {
		info, err := os.Stat(path)
		check(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
	release(t, b, grant)
}

func TestLockFileMustBeAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	b := newBackend(t, dir, nil)
	for name, make := range map[string]func(path string) error{
		"symlink":   func(path string) error { return os.Symlink(elsewhere, path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		check(t, make(lockFile(dir, name)))
		var pathErr *fs.PathError
		if _, err := b.TryAcquire(t.Context(), request(name)); !errors.As(err, &pathErr) {
			t.Errorf("%s in place of a lock file: %v", name, err)
		}
	}
	if _, err := os.Lstat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made outside of the directory: %v", err)
	}
}

// Files of a directory that is shared follow its permission bits, against the
// umask of who makes them, so that the others can lock, wait and wake.
func TestSharedDirectory(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o2777|fs.ModeSetgid))
	b := newBackend(t, dir, nil)
	grant := acquire(t, b, "job")
	waiter := otherUser(t, "hold", dir, "job")
	awaitWaiters(t, b, "job", 1)
	check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir || entry.Name() == "binary" {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o066 != 0o066 {
			err = fmt.Errorf("%s has mode %v: others cannot use it", path, info.Mode())
		}
		return err
	}))
	release(t, b, grant)
	waiter.line()
	mustBeHeld(t, b, "job")
	check(t, waiter.stdin.Close())
	waiter.line()
	release(t, b, acquire(t, b, "job"))
	noLine(t, dir)
}

// otherUser plays a role as a user who can only use what is shared, where this
// process may do that; else as this user.
func otherUser(t *testing.T, role string, args ...string) *child {
	t.Helper()
	if os.Geteuid() != 0 {
		return start(t, role, args...)
	}
	for dir := args[0]; len(dir) > 1; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		check(t, err)
		if info.Mode().Perm()&0o001 == 0 {
			check(t, os.Chmod(dir, info.Mode().Perm()|0o011))
		}
	}
	t.Chdir(args[0])
	return startAs(t, &syscall.Credential{Uid: 65534, Gid: 65534}, role, args...)
}

func TestURLs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, url := range []string{"file://" + dir, "file://" + dir + "?mode=process", "file://" + dir + "?mode=lease"} {
		client, err := fencehold.Open(t.Context(), url)
		check(t, err)
		want := strings.TrimSuffix(url, "?mode=process")
		if got := client.Info(); got.URL != want || got.Kind != "file" {
			t.Errorf("%s is described as %+v", url, got)
		}
		lease, err := client.Mutex("job").TryAcquire(t.Context())
		check(t, err)
		if lease.Pinned() == strings.HasSuffix(url, "lease") {
			t.Errorf("%s: pinned: %v", url, lease.Pinned())
		}
		check(t, lease.Release(t.Context()))
		check(t, client.Close())
	}
	for _, url := range []string{
		"file://locks", "file://./locks", "file://" + dir + "?mode=fast", "file://" + dir + "?mode=process&mode=lease",
		"file://" + dir + "?ttl=1s", "file://" + dir + "?mode", "file://" + dir + "#x", "file://me@/" + dir,
		"file://%zz", "file://" + dir + "?a;b", "file:///tmp/%zz",
	} {
		if client, err := fencehold.Open(t.Context(), url); !errors.Is(err, fencehold.ErrInvalid) {
			t.Errorf("%s: client %v, %v", url, client, err)
		}
	}
}
