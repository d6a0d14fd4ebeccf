package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// An Error says what is wrong with the configuration.
type Error struct {
	// Source is the file, the variable or the flag.
	Source string
	// Err is the rule that was broken.
	Err error
}

// Error names the source and the rule.
func (e *Error) Error() string { return e.Source + ": " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// table is the settings of a file or of one of its profiles, by key, as they
// were written.
type table map[string]string

// file is a configuration file.
type file struct {
	path           string
	top            table
	profiles       map[string]table
	defaultProfile string
}

// document is the layout of a file.
type document struct {
	DefaultProfile string              `toml:"default_profile"`
	Profile        map[string]settings `toml:"profile"`
	settings
}

// settings are the keys that stand at the top of a file and in its profiles.
type settings struct {
	URL          *urls   `toml:"url"`
	TTL          *text   `toml:"ttl"`
	KillAfter    *text   `toml:"kill_after"`
	Owner        *string `toml:"owner"`
	PasswordFile *string `toml:"password_file"`
	LogFormat    *string `toml:"log_format"`
}

// text is a duration as it would stand on the command line: a number counts
// seconds there, and so it does in the file.
type text string

// UnmarshalTOML takes a string, an integer or a float.
func (t *text) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case string:
		*t = text(v)
	case int64:
		*t = text(strconv.FormatInt(v, 10))
	case float64:
		*t = text(strconv.FormatFloat(v, 'f', -1, 64))
	default:
		return fmt.Errorf("%v: want a duration such as \"1m30s\", or a number of seconds", v)
	}
	return nil
}

// urls is one URL, or a list of them with blanks between, as on the command line.
type urls string

// UnmarshalTOML takes a string, or a list of strings.
func (u *urls) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case string:
		*u = urls(v)
		return nil
	case []any:
		return u.takeList(v)
	}
	return errors.New("url: want a string, or a list of strings")
}

// takeList takes the servers of a Redlock set. Its errors do not show an item, which may
// have a password.
func (u *urls) takeList(items []any) error {
	const want = "a list has the URLs of the servers of a Redlock set, such as redis://HOST"
	if len(items) == 0 {
		return errors.New("url: the list is empty: " + want)
	}
	var list []string
	for i, item := range items {
		url, ok := item.(string)
		if !ok || !serverURL.MatchString(url) || len(strings.Fields(url)) != 1 {
			return fmt.Errorf("url: item %d of the list is no such URL: %s", i+1, want)
		}
		list = append(list, url)
	}
	*u = urls(JoinURLs(list))
	return nil
}

// table returns the keys that were given.
func (s settings) table() table {
	t := table{}
	for key, value := range map[string]*string{
		"url": (*string)(s.URL), "ttl": (*string)(s.TTL), "kill_after": (*string)(s.KillAfter), "owner": s.Owner,
		"password_file": s.PasswordFile, "log_format": s.LogFormat,
	} {
		if value != nil {
			t[key] = *value
		}
	}
	return t
}

// read reads the file at path. With optional, one that is not there is as
// good as an empty one.
func read(path string, optional bool) (*file, error) {
	f := &file{path: path, profiles: map[string]table{}}
	if path == "" {
		return f, nil
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && optional {
		return f, nil
	}
	if err != nil {
		return nil, &Error{path, &unreadable{withoutPath(err)}}
	}
	var doc document
	meta, err := toml.Decode(string(content), &doc)
	if err != nil {
		return nil, &Error{path, err}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, &Error{path, unknownKey(unknown[0])}
	}
	f.top, f.defaultProfile = doc.table(), doc.DefaultProfile
	for name, s := range doc.Profile {
		f.profiles[name] = s.table()
	}
	return f, f.checkSecrets()
}

// unknownKey lists the keys that could have been meant where key stands.
func unknownKey(key toml.Key) error {
	known := slices.Sorted(maps.Keys(keys()))
	if len(key) == 1 {
		known = append([]string{"default_profile"}, known...)
		known = append(known, "[profile.NAME]")
	}
	return fmt.Errorf("key %q is not known: want one of %s", key.String(), strings.Join(known, ", "))
}

// An unreadable file is one that the system did not let us read.
type unreadable struct{ err error }

// Error is what the system said.
func (e *unreadable) Error() string { return e.err.Error() }

// Unwrap returns e.err.
func (e *unreadable) Unwrap() error { return e.err }

// checkSecrets refuses a password that everybody on the machine can read.
func (f *file) checkSecrets() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return &Error{f.path, withoutPath(err)}
	}
	if info.Mode().Perm()&0o004 == 0 {
		return nil
	}
	for _, t := range append(slices.Collect(maps.Values(f.profiles)), f.top) {
		if hasLiteralPassword(t["url"]) {
			return &Error{f.path, errors.New("holds a password and is readable by everybody: " +
				"chmod 600 it, or use password_file or ${VARIABLE}")}
		}
	}
	return nil
}

// get looks key up in the profile, then at the top.
func (f *file) get(profile, key string) (value, origin string, found bool) {
	if v, ok := f.profiles[profile][key]; ok {
		return v, f.path + " [profile." + profile + "]", true
	}
	if v, ok := f.top[key]; ok {
		return v, f.path, true
	}
	return "", "", false
}

// defaultPath is where the file is unless told otherwise, and what says so. It
// is the same place for a shell and for a cron job, which may have no HOME; a
// HOME that is no directory, as services have, is as good as none.
func (src Source) defaultPath() (path, origin string) {
	const below = "fencehold/config.toml"
	if dir := src.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, below), "from $XDG_CONFIG_HOME"
	}
	if home := src.Getenv("HOME"); usable(home) {
		return filepath.Join(home, ".config", below), "from $HOME"
	}
	// Asked last: the user database may be on a server.
	if home := src.Home(); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", below), "from the user database"
	}
	return "", "default"
}

// usable reports whether home can hold a configuration. One that may not be
// looked into counts: to pass it over would be to ignore what the user wrote.
func usable(home string) bool {
	if !filepath.IsAbs(home) {
		return false
	}
	info, err := os.Stat(home)
	return errors.Is(err, fs.ErrPermission) || (err == nil && info.IsDir())
}

// withoutPath takes the path out of an error that names it again.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// expand replaces each ${NAME} in s with the value of that variable.
// Values are escaped in the user and the password, where they may hold any
// character, and nowhere else: a variable may be all of a URL, or a list of hosts.
func expand(s string, getenv func(string) string) (string, error) {
	_, user, _ := userOf(s)
	var b strings.Builder
	for at := 0; ; {
		before, rest, found := strings.Cut(s[at:], "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("${ is not closed by }")
		}
		value := getenv(name)
		if value == "" {
			return "", fmt.Errorf("variable %s is not set", name)
		}
		if at+len(before) < user {
			value = escape(value)
		}
		b.WriteString(value)
		at = len(s) - len(after)
	}
}
