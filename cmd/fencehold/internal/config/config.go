// Package config finds the settings of the command: flag before environment
// before configuration file before default, and remembers where each came
// from.
package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Setting is a value and where it came from.
type Setting struct {
	// Key is its name in the configuration file.
	Key string
	// Value is what counts; an empty one is not set.
	Value string
	// Origin is a flag, a variable, a file or "default".
	Origin string
}

// A Source is where settings come from.
type Source struct {
	// Flags are the values of flags that were given, by key.
	Flags map[string]string
	// Getenv reads the environment.
	Getenv func(string) string
	// Home is the home directory of the user database, empty if it is not
	// known. It is asked only if the environment names no place for the file.
	Home func() string
}

// Config is all settings.
type Config struct {
	settings map[string]Setting
}

// keys are the settings, with their defaults.
func keys() map[string]string {
	return map[string]string{
		"url": "file://", "ttl": "30s", "kill_after": "", "owner": "", "password_file": "", "log_format": "text",
	}
}

// Load finds all settings.
// Keys, their types and the profile are checked whether the command needs them or
// not: a mistake shows when it is made, and not in the night when it first matters.
func Load(src Source) (*Config, error) {
	where, f, err := src.open()
	if err != nil {
		return nil, err
	}
	c := &Config{settings: map[string]Setting{"config": where}}
	if err := c.chooseProfile(src, f); err != nil {
		return nil, err
	}
	for key, standard := range keys() {
		c.settings[key] = src.find(f, c.Get("profile"), key, standard)
	}
	return c, c.resolveURL(src)
}

// open reads the file, and says where it was looked for. Only one that somebody
// has named must be there.
func (src Source) open() (Setting, *file, error) {
	s := Setting{"config", src.Flags["config"], "flag --config"}
	if s.Value == "" {
		s.Value, s.Origin = src.Getenv("FENCEHOLD_CONFIG"), "environment FENCEHOLD_CONFIG"
	}
	if s.Value != "" {
		f, err := read(s.Value, false)
		return s, f, err
	}
	s.Value, s.Origin = src.defaultPath()
	f, err := read(s.Value, true)
	if e, ok := errors.AsType[*unreadable](err); ok {
		hint := "set HOME or --config"
		err = &Error{s.Value, fmt.Errorf("%w (%s; %s)", e.err, s.Origin, hint)}
	}
	return s, f, err
}

// Profiles lists the profiles of the file, in order; none if it cannot be read.
func Profiles(src Source) []string {
	_, f, err := src.open()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(f.profiles))
}

// chooseProfile takes the profile of the flag, of the environment, or the one
// that the file names. One that the file does not have is an error, since its
// settings would silently be missing.
func (c *Config) chooseProfile(src Source, f *file) error {
	s := Setting{"profile", src.Flags["profile"], "flag --profile"}
	if s.Value == "" {
		s.Value, s.Origin = src.Getenv("FENCEHOLD_PROFILE"), "environment FENCEHOLD_PROFILE"
	}
	if s.Value == "" {
		s.Value, s.Origin = f.defaultProfile, f.path
	}
	c.settings["profile"] = s
	if s.Value == "" {
		c.settings["profile"] = Setting{Key: "profile", Origin: "default"}
		return nil
	}
	if _, ok := f.profiles[s.Value]; !ok {
		names := strings.Join(slices.Sorted(maps.Keys(f.profiles)), ", ")
		return &Error{s.Origin, fmt.Errorf("profile %q is not in %s: it has %s", s.Value, f.path, orNone(names))}
	}
	return nil
}

// orNone makes an empty list readable.
func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// find looks for a setting in the order of precedence. An empty variable is as
// good as none: scripts cannot always unset one.
func (src Source) find(f *file, profile, key, standard string) Setting {
	if v, ok := src.Flags[key]; ok {
		return Setting{key, v, "flag --" + strings.ReplaceAll(key, "_", "-")}
	}
	if name := "FENCEHOLD_" + strings.ToUpper(key); src.Getenv(name) != "" {
		return Setting{key, src.Getenv(name), "environment " + name}
	}
	if v, origin, ok := f.get(profile, key); ok {
		return Setting{key, v, origin}
	}
	return Setting{key, standard, "default"}
}

// resolveURL expands variables in a URL from the file and adds the password.
// What came from the command line was expanded by a shell, and is left alone.
func (c *Config) resolveURL(src Source) error {
	s := c.settings["url"]
	var err error
	if s.Origin != "default" && !strings.HasPrefix(s.Origin, "flag ") {
		expanded := func(url string) (string, error) { return expand(url, src.Getenv) }
		if s.Value, err = eachURL(s.Value, expanded); err != nil {
			return &Error{s.Origin, fmt.Errorf("url: %w", err)}
		}
	}
	if secret := c.settings["password_file"]; secret.Value != "" && !ownPassword(s, secret) {
		logged := func(url string) (string, error) { return withPassword(url, secret.Value) }
		if s.Value, err = eachURL(s.Value, logged); err != nil {
			return &Error{secret.Origin, fmt.Errorf("password_file %q: %w", secret.Value, withoutPath(err))}
		}
	}
	c.settings["url"] = s
	return nil
}

// ownPassword reports whether the URL has a password, and counts more than the
// password_file: who gives such a URL for one call means it.
func ownPassword(url, file Setting) bool {
	has := slices.ContainsFunc(URLs(url.Value), func(one string) bool {
		s, found := password(one)
		return found && s.from != s.to || ownFile.MatchString(one)
	})
	return has && rank(url.Origin) < rank(file.Origin)
}

// ownFile finds the option of a URL that names a file with the password.
var ownFile = regexp.MustCompile(`[?&]password_file=`)

// rank orders the origins of settings: what counts more comes first.
func rank(origin string) int {
	switch {
	case strings.HasPrefix(origin, "flag "):
		return 0
	case strings.HasPrefix(origin, "environment "):
		return 1
	case strings.HasSuffix(origin, "]"):
		return 2
	}
	return 3
}

// Get returns the value of a setting.
func (c *Config) Get(key string) string { return c.settings[key].Value }

// Origin says where the value of a setting came from.
func (c *Config) Origin(key string) string { return c.settings[key].Origin }

// All returns the settings in the order of their keys, with passwords hidden.
func (c *Config) All() []Setting {
	var all []Setting
	for _, key := range slices.Sorted(maps.Keys(c.settings)) {
		s := c.settings[key]
		if key == "url" {
			s.Value = Redact(s.Value)
		}
		all = append(all, s)
	}
	return all
}

// Invalid returns the error of a setting that breaks a rule: of the usage if
// a flag set it, otherwise of the configuration.
func (c *Config) Invalid(key string, err error) error {
	origin := c.Origin(key)
	if flag, ok := strings.CutPrefix(origin, "flag "); ok {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return &Error{origin, fmt.Errorf("%s: %w", key, err)}
}

// FromFlag reports whether a flag set the key.
func (c *Config) FromFlag(key string) bool { return strings.HasPrefix(c.Origin(key), "flag ") }
