package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	URL          *string `toml:"url"`
	TTL          *string `toml:"ttl"`
	KillAfter    *string `toml:"kill_after"`
	Owner        *string `toml:"owner"`
	PasswordFile *string `toml:"password_file"`
	LogFormat    *string `toml:"log_format"`
}

// table returns the keys that were given.
func (s settings) table() table {
	t := table{}
	for key, value := range map[string]*string{
		"url": s.URL, "ttl": s.TTL, "kill_after": s.KillAfter, "owner": s.Owner,
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
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && optional {
		return f, nil
	}
	if err != nil {
		return nil, &Error{path, withoutPath(err)}
	}
	var doc document
	meta, err := toml.Decode(string(text), &doc)
	if err != nil {
		return nil, &Error{path, err}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, &Error{path, fmt.Errorf("key %q is not known", unknown[0].String())}
	}
	f.top, f.defaultProfile = doc.table(), doc.DefaultProfile
	for name, s := range doc.Profile {
		f.profiles[name] = s.table()
	}
	return f, f.checkSecrets()
}

// checkSecrets refuses a password that everybody on the machine can read.
func (f *file) checkSecrets() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return &Error{f.path, withoutPath(err)}
	}
	if info.Mode().Perm()&0o004 == 0 {
		return nil
	}
	for _, t := range append(mapValues(f.profiles), f.top) {
		if hasLiteralPassword(t["url"]) {
			return &Error{f.path, errors.New("holds a password and is readable by everybody: " +
				"chmod 600 it, or use password_file or ${VARIABLE}")}
		}
	}
	return nil
}

// mapValues returns the values of m in no particular order.
func mapValues(m map[string]table) []table {
	var all []table
	for _, t := range m {
		all = append(all, t)
	}
	return all
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

// defaultPath is where the file is unless told otherwise.
func defaultPath(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if dir == "" || !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "fencehold", "config.toml")
}

// withoutPath takes the path out of an error that names it again.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// expand replaces each ${NAME} in s with the value of that variable.
func expand(s string, getenv func(string) string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
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
		b.WriteString(value)
		s = after
	}
}
