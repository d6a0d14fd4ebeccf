package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
)

// TestURLs: blanks separate URLs of servers, and belong to the name of a directory.
func TestURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		"redis://a":                           {"redis://a"},
		" redis://a\n":                        {"redis://a"},
		"redis://a  rediss://b\tunix:///c":    {"redis://a", "rediss://b", "unix:///c"},
		"valkeys+cluster://a redlock://a,b,c": {"valkeys+cluster://a", "redlock://a,b,c"},
		"file:///my dir":                      {"file:///my dir"},
		"file:///a file:///b":                 {"file:///a file:///b"},
		"redis://u:SEC RET@h":                 {"redis://u:SEC RET@h"},
		"redis://a b":                         {"redis://a b"},
		"":                                    {""},
		"REDIS://a redis+unix:///b":           {"REDIS://a", "redis+unix:///b"},
		"redis://a redis+unix:///with%20blanks/b": {"redis://a", "redis+unix:///with%20blanks/b"},
	} {
		if got := config.URLs(raw); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// TestListOfURLs: what holds for one URL holds for each of a list, wherever the list
// comes from.
func TestListOfURLs(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("p@w\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"P": "a b@", "ALL": "redis://a redis://b redis://c"}
	for _, c := range []struct {
		name, text, want, shown string
	}{
		{
			"list", "url = ['redis://u:${P}@a', 'redis://b', 'redis://v:${P}@c']",
			"redis://u:a%20b%40@a redis://b redis://v:a%20b%40@c", "redis://u:xxxxx@a redis://b redis://v:xxxxx@c",
		},
		{
			"blanks", "url = 'redis://u:${P}@a redis://b redis://c'",
			"redis://u:a%20b%40@a redis://b redis://c", "redis://u:xxxxx@a redis://b redis://c",
		},
		{
			"password file", "url = ['redis://u@a', 'redis://b', 'redis://c']\npassword_file = '" + secret + "'",
			"redis://u:p%40w@a redis://:p%40w@b redis://:p%40w@c", "redis://u:xxxxx@a redis://:xxxxx@b redis://:xxxxx@c",
		},
		{"variable", "url = '${ALL}'", env["ALL"], env["ALL"]},
	} {
		loaded, err := config.Load(source(t, nil, env, c.text))
		if err != nil || loaded.Get("url") != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, loaded.Get("url"), err, c.want)
			continue
		}
		if got := config.Redact(loaded.Get("url")); got != c.shown {
			t.Errorf("%s: shown as %q, want %q", c.name, got, c.shown)
		}
	}
	for text, says := range map[string]string{
		"url = ['redis://a', 'file:///b']": "item 2 of the list is no such URL: a list has the URLs of the servers",
		"url = [3, 'redis://a']":           "item 1 of the list is no such URL: a list has the URLs of the servers",
		"url = []":                         "the list is empty: a list has the URLs of the servers",
		"url = 3":                          "want a string, or a list of strings",
		"url = ['redis://:x@a', 'redis://b', 'redis://c']\npassword_file = '" + secret + "'": "has a password already",
	} {
		if _, err := config.Load(source(t, nil, env, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want one with %q", text, err, says)
		}
	}
	readable := source(t, nil, env, "url = ['redis://a', 'redis://u:secret@b', 'redis://c']")
	if err := os.Chmod(readable.Flags["config"], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(readable); err == nil || !strings.Contains(err.Error(), "readable by everybody") {
		t.Errorf("a password in a list that everybody can read: %v", err)
	}
}

// TestNamesSet: one URL of a set names one, and so do several of one server each.
func TestNamesSet(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		"redlock://a,b,c": true, "valkeys+redlock://a,b,c": true, "redis+redlock://a": true, "redlocks://a": true,
		"redis://a redis://b": true, "redis://a": false, "redis+cluster://a,b,c": false, "file:///redlock://": false, "": false,
	} {
		if got := config.NamesSet(raw); got != want {
			t.Errorf("%q names a set: %v, want %v", raw, got, want)
		}
	}
}
