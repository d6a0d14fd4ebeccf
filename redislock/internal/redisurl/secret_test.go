package redisurl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// write makes a file and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretsOfURL(t *testing.T) {
	u := redisurl.URL{Password: "a", SentinelPassword: "b"}
	if p, s, err := u.Secrets(); p != "a" || s != "b" || err != nil {
		t.Errorf("read %q, %q, %v", p, s, err)
	}
}

func TestSecretsOfFiles(t *testing.T) {
	for content, want := range map[string]string{
		"a": "a", "a\n": "a", "a\r\n": "a", "a\n\n": "a\n", "a\r": "a\r", "a b": "a b",
		strings.Repeat("a", 4096): strings.Repeat("a", 4096),
	} {
		path := write(t, "password", content)
		u := redisurl.URL{PasswordFile: path, SentinelPasswordFile: path}
		if p, s, err := u.Secrets(); p != want || s != want || err != nil {
			t.Errorf("%q read as %q, %q, %v", content, p, s, err)
		}
	}
}

// TestSecretsThroughLink: secrets are mounted as links to files.
func TestSecretsThroughLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(write(t, "password", "a\n"), link); err != nil {
		t.Fatal(err)
	}
	u := redisurl.URL{PasswordFile: link}
	if p, _, err := u.Secrets(); p != "a" || err != nil {
		t.Errorf("read %q, %v", p, err)
	}
}

func TestSecretsRefuses(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	empty, long := write(t, "empty", "\n"), write(t, "long", strings.Repeat("S", 4097))
	for path, rule := range map[string]string{
		t.TempDir(): "must be a regular file", os.DevNull: "must be a regular file",
		missing: "no such file", empty: "has no password", long: "must have 4096 bytes at most",
	} {
		for option, u := range map[string]redisurl.URL{
			"option password_file":          {PasswordFile: path},
			"option sentinel_password_file": {SentinelPasswordFile: path},
		} {
			p, s, err := u.Secrets()
			if err == nil || p != "" || s != "" {
				t.Errorf("%s: read %q, %q", path, p, s)
				continue
			}
			for _, want := range []string{option, path, rule} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %v, want one with %q", path, err, want)
				}
			}
		}
	}
}
