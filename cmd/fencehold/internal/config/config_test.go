package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
)

// source is settings from flags, variables and the text of a file.
func source(t *testing.T, flags, env map[string]string, text string) config.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if flags == nil {
		flags = map[string]string{}
	}
	if _, given := flags["config"]; !given {
		flags["config"] = path
	}
	return config.Source{Flags: flags, Getenv: func(name string) string { return env[name] }}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	const text = "ttl = '1s'\nowner = 'top'\nkill_after = '4s'\ndefault_profile = 'p'\n" +
		"[profile.p]\nttl = '2s'\nowner = 'profile'\n[profile.q]\nowner = 'other'\n"
	env := map[string]string{"FENCEHOLD_TTL": "3s"}
	for _, c := range []struct {
		flags, env map[string]string
		key, value string
		origin     string
	}{
		{nil, nil, "url", "file://", "default"},
		{nil, nil, "kill_after", "4s", "config.toml"},
		{nil, nil, "ttl", "2s", "config.toml [profile.p]"},
		{nil, env, "ttl", "3s", "environment FENCEHOLD_TTL"},
		{map[string]string{"ttl": "5s"}, env, "ttl", "5s", "flag --ttl"},
		{map[string]string{"kill_after": "6s"}, nil, "kill_after", "6s", "flag --kill-after"},
		{map[string]string{"profile": "q"}, nil, "owner", "other", "config.toml [profile.q]"},
		{map[string]string{"profile": "q"}, nil, "ttl", "1s", "config.toml"},
		{nil, map[string]string{"FENCEHOLD_PROFILE": "q"}, "owner", "other", "config.toml [profile.q]"},
	} {
		loaded, err := config.Load(source(t, c.flags, c.env, text))
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		if got := loaded.Get(c.key); got != c.value || !strings.HasSuffix(loaded.Origin(c.key), c.origin) {
			t.Errorf("%s = %q from %q, want %q from %q", c.key, got, loaded.Origin(c.key), c.value, c.origin)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags      map[string]string
		text, want string
	}{
		{nil, "tll = '1s'", `key "tll" is not known`},
		{nil, "[profile.x]\ncolour = 'red'", `"profile.x.colour" is not known`},
		{nil, "ttl = true", "ttl"},
		{nil, "tll = 5", "want one of default_profile, kill_after, log_format, owner, password_file, ttl, url, [profile.N"},
		{nil, "[profile.x]\ncolour = 1", "want one of kill_after, log_format, owner, password_file, ttl, url"},
		{nil, "ttl = ", "line 1"},
		{nil, "url = 'redis://${NOWHERE}/'", "variable NOWHERE is not set"},
		{nil, "url = 'redis://${NOWHERE/'", "not closed"},
		{nil, "password_file = '/no/such/file'", "no such file"},
		{nil, "default_profile = 'p'", `profile "p" is not in`},
		{map[string]string{"profile": "q"}, "", "it has none"},
		{map[string]string{"config": "/no/such/file"}, "", "/no/such/file: no such file"},
	} {
		_, err := config.Load(source(t, c.flags, nil, c.text))
		if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

func TestDefaultFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"xdg", "home", "cron"} {
		os.Mkdir(filepath.Join(dir, name), 0o700)
	}
	xdg, home, cron := filepath.Join(dir, "xdg"), filepath.Join(dir, "home"), filepath.Join(dir, "cron")
	for _, c := range []struct {
		env          map[string]string
		path, origin string
	}{
		{map[string]string{"XDG_CONFIG_HOME": xdg, "HOME": "/nonexistent"}, xdg, "from $XDG_CONFIG_HOME"},
		{map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": home}, home + "/.config", "from $HOME"},
		{map[string]string{"HOME": "/nonexistent"}, cron + "/.config", "from the user database"},
		{map[string]string{"HOME": "relative"}, cron + "/.config", "from the user database"},
		{nil, cron + "/.config", "from the user database"},
	} {
		getenv := func(name string) string { return c.env[name] }
		src := config.Source{Getenv: getenv, Home: func() string { return cron }}
		os.Remove(c.path + "/fencehold/config.toml")
		loaded, err := config.Load(src)
		if err != nil || loaded.Get("ttl") != "30s" {
			t.Fatalf("without a file: ttl %q, %v", loaded.Get("ttl"), err)
		}
		path := loaded.Get("config")
		if path != c.path+"/fencehold/config.toml" || loaded.Origin("config") != c.origin {
			t.Errorf("%v: file %s %q, want it in %s %q", c.env, path, loaded.Origin("config"), c.path, c.origin)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		os.WriteFile(path, []byte("ttl = '8s'"), 0o600)
		if loaded, err = config.Load(src); err != nil || loaded.Get("ttl") != "8s" {
			t.Errorf("with %s: ttl %q, %v, want 8s", path, loaded.Get("ttl"), err)
		}
	}
}

// TestNoHomeAtAll: without any place for a file there is none, and no error.
func TestNoHomeAtAll(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	loaded, err := config.Load(config.Source{Getenv: none, Home: func() string { return "" }})
	if err != nil || loaded.Get("config") != "" || loaded.Get("ttl") != "30s" {
		t.Errorf("file %q, ttl %q, %v, want the defaults", loaded.Get("config"), loaded.Get("ttl"), err)
	}
}

// TestUnreadableDefault: who named no file learns what named it.
func TestUnreadableDefault(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	// Permissions keep nobody out who is root, but a directory is no file to anybody.
	if err := os.MkdirAll(filepath.Join(home, ".config/fencehold/config.toml"), 0o700); err != nil {
		t.Fatal(err)
	}
	src := config.Source{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	_, err := config.Load(src)
	const hint = "(from $HOME; set HOME or --config)"
	if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), hint) {
		t.Errorf("error %v, want one that says where the path came from", err)
	}
	src.Flags = map[string]string{"config": home}
	if _, err := config.Load(src); err == nil || strings.Contains(err.Error(), "$HOME") {
		t.Errorf("error %v of a file that was named, want one without HOME", err)
	}
}

// TestNumbers: a number counts seconds in the file, as it does for the flags.
func TestNumbers(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(source(t, nil, nil, "ttl = 20\nkill_after = 2.5\n"))
	if err != nil || loaded.Get("ttl") != "20" || loaded.Get("kill_after") != "2.5" {
		t.Errorf("ttl %q, kill_after %q, %v, want 20 and 2.5", loaded.Get("ttl"), loaded.Get("kill_after"), err)
	}
}

// TestProfiles: they are known in order, and a file with a mistake has none.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[profile.q]\n[profile.p]\nttl = 1": "p q", "": "", "[profile.p]\nttl = true": "", "ttl = ": "",
	} {
		if got := strings.Join(config.Profiles(source(t, nil, nil, text)), " "); got != want {
			t.Errorf("%q: profiles %q, want %q", text, got, want)
		}
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("p w/d@\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "password_file = '" + secret + "'\nurl = '"
	for raw, want := range map[string]string{
		"redis://user@h1:1,h2/0": "redis://user:p%20w%2Fd%40@h1:1,h2/0",
		"redis://user:@host":     "redis://user:p%20w%2Fd%40@host",
		"redis://h:1/?x=b":       "redis://:p%20w%2Fd%40@h:1/?x=b",
		"redis://host/0?a=b@c":   "redis://:p%20w%2Fd%40@host/0?a=b@c",
	} {
		loaded, err := config.Load(source(t, nil, nil, text+raw+"'"))
		if err != nil || loaded.Get("url") != want {
			t.Errorf("%s: %q, %v, want %q", raw, loaded.Get("url"), err, want)
		}
		for _, s := range loaded.All() {
			if strings.Contains(s.Value, "p%20w") {
				t.Errorf("%s: the settings show the password: %+v", raw, s)
			}
		}
	}
	if _, err := config.Load(source(t, nil, nil, text+"redis://user:own@host'")); err == nil ||
		!strings.Contains(err.Error(), "has a password already") || strings.Contains(err.Error(), "own@") {
		t.Errorf("two passwords: error %v", err)
	}
}

// TestOwnPassword: a URL with a password of its own counts more than a
// password_file that counts less than the URL, and no other does.
func TestOwnPassword(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const own = "redis://u:own@h"
	inFile := "password_file = '" + secret + "'\n"
	for _, c := range []struct {
		name       string
		flags, env map[string]string
		text, want string
	}{
		{"flag", map[string]string{"url": own}, nil, inFile, own},
		{"option", map[string]string{"url": "redis://h?password_file=f"}, nil, inFile, "redis://h?password_file=f"},
		{"environment", nil, map[string]string{"FENCEHOLD_URL": own}, inFile, own},
		{"profile", map[string]string{"profile": "p"}, nil, inFile + "[profile.p]\nurl = '" + own + "'", own},
		{"without", map[string]string{"url": "redis://u:@h"}, nil, inFile, "redis://u:other@h"},
		{"same", nil, map[string]string{"FENCEHOLD_URL": own, "FENCEHOLD_PASSWORD_FILE": secret}, "", ""},
	} {
		loaded, err := config.Load(source(t, c.flags, c.env, c.text))
		if (err != nil) != (c.want == "") || err == nil && loaded.Get("url") != c.want {
			t.Errorf("%s: URL %v, error %v, want %q", c.name, loaded, err, c.want)
		}
	}
}

// TestEmptyPasswordFile: no password at all is not what it was written for.
func TestEmptyPasswordFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "\r\n", "\nsecond line\n"} {
		path := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(source(t, nil, nil, "url = 'redis://u@h'\npassword_file = '"+path+"'"))
		if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), "first line is empty") {
			t.Errorf("%q: error %v, want one that says that it is empty", text, err)
		}
	}
}

// TestVariables: a value is escaped where it is a part of the user or of the
// password, and nowhere else.
func TestVariables(t *testing.T) {
	t.Parallel()
	env := map[string]string{"P": "p/#?@:%", "H": "h1:1,h2/0", "U": "redis://u:p%40@h"}
	for raw, want := range map[string]string{
		"redis://u:${P}@${H}":      "redis://u:p%2F%23%3F%40%3A%25@h1:1,h2/0",
		"redis://${P}@h":           "redis://p%2F%23%3F%40%3A%25@h",
		"redis://u:a${P}b${P}@h":   "redis://u:ap%2F%23%3F%40%3A%25bp%2F%23%3F%40%3A%25@h",
		"redis://${H}?mail=me@box": "redis://h1:1,h2/0?mail=me@box",
		"${U}":                     "redis://u:p%40@h",
	} {
		loaded, err := config.Load(source(t, nil, env, "url = '"+raw+"'"))
		if err != nil || loaded.Get("url") != want {
			t.Errorf("%s: %q, %v, want %q", raw, loaded.Get("url"), err, want)
		}
	}
}

func TestReadableByEverybody(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		"url = 'redis://u:secret@h'":              true,
		"[profile.x]\nurl = 'redis://u:secret@h'": true,
		"url = 'redis://u:${PASSWORD}@h'":         false,
		"url = 'redis://u@h'":                     false,
		"url = 'file:///a:b@c'":                   false,
		"url = 'redis://u:secret/x@h'":            true,
		"url = 'redis://u:secret#x@h'":            true,
		"url = 'redis://h/?password=secret'":      true,
		"url = 'redis://h/?password=${PASSWORD}'": false,
		"url = 'redis://u:${A}secret${B}@h'":      true,
		"url = 'redis://u:${A}${B}@h'":            false,
	} {
		src := source(t, nil, map[string]string{"PASSWORD": "x", "A": "a", "B": "b"}, text)
		if err := os.Chmod(src.Flags["config"], 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(src)
		if (err != nil) != refused || (err != nil && strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: error %v, want refused: %t", text, err, refused)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"redis://u:p@h/0":          "redis://u:xxxxx@h/0",
		"redis://u:p@ss:w@h1,h2/0": "redis://xxxxx@h1,h2/0",
		"redis://:p@h":             "redis://:xxxxx@h",
		"redis://u@h":              "redis://xxxxx@h",
		"redis://@h":               "redis://@h",
		"redis://SEC/RET:x@h":      "redis://xxxxx@h",
		"redis://SEC%zRET:x@h":     "redis://xxxxx@h",
		"redis://a%20b:x%y@h":      "redis://a%20b:xxxxx@h",
		"SECRET@h":                 "xxxxx@h",
		"file:///dir/a:b@c":        "file:///dir/a:b@c",
		"nonsense":                 "nonsense",
		"redis://u:SEC/RET@h/0":    "redis://xxxxx@h/0",
		"redis://u:SEC#RET@h/0":    "redis://xxxxx@h/0",
		"redis://u:SEC?RET@h/0":    "redis://xxxxx@h/0",
		"redis://u:1/2@h":          "redis://xxxxx@h",
		"redis:u:SECRET@h":         "xxxxx@h",
		"redis://u:@h":             "redis://u:@h",
		"file://u:SEC/RET@h/x":     "file://xxxxx@h/x",

		"redis://h/?password=SECRET&db=1": "redis://h/?password=xxxxx&db=1",
		"redis://h/?a=b&Pass=S#E;C":       "redis://h/?a=b&Pass=xxxxx",
		"file:///d?p%61ss=SECRET":         "file:///d?p%61ss=xxxxx",
		"file:///d?client_secret=S&TOKEN": "file:///d?client_secret=xxxxx&TOKEN",
		"redis://h/?auth_token=S@C:T":     "redis://xxxxx",
		"redis://u:S@h/?password=S@C&a=b": "redis://xxxxx&a=b",
		"redis://u:S?token=C@h/?a=b":      "redis://xxxxx",
	} {
		if got := config.Redact(raw); got != want {
			t.Errorf("Redact(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestInvalidBlamesTheSource(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(source(t, map[string]string{"ttl": "x"}, nil, "kill_after = 'y'"))
	if err != nil {
		t.Fatal(err)
	}
	rule := errors.New("rule")
	if err := loaded.Invalid("ttl", rule); err.Error() != "--ttl: rule" || !loaded.FromFlag("ttl") {
		t.Errorf("flag: %v", err)
	}
	err = loaded.Invalid("kill_after", rule)
	if _, ok := errors.AsType[*config.Error](err); !ok || !strings.HasSuffix(err.Error(), "config.toml: kill_after: rule") {
		t.Errorf("file: %v", err)
	}
}
