package filelock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// open is the opener of the scheme "file".
func open(_ context.Context, rawURL string) (driver.Backend, error) {
	dir, opts, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	return New(dir, opts)
}

// parseURL reads file://[/DIR][?mode=process|lease].
// What is refused is not repeated but for the part that broke the rule: where a
// URL has a user or more of a query, it may have a password.
func parseURL(rawURL string) (string, *Options, error) {
	_, rest, _ := strings.Cut(rawURL, "://")
	if rest != "" && rest[0] != '/' && rest[0] != '?' {
		return "", nil, invalid("URL: the directory must be absolute, without host or user: want file:///DIR")
	}
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%w: URL: %w", fencehold.ErrInvalid, withoutURL(err))
	case u.Host != "" || u.Opaque != "" || u.User != nil || u.Fragment != "":
		return "", nil, invalid("URL of directory %q: only a directory and a query are allowed", u.Path)
	}
	opts, err := parseQuery(u)
	if err != nil {
		return "", nil, err
	}
	if u.Path == "" {
		return "", opts, nil
	}
	return fromURLPath(u.Path), opts, nil
}

// withoutURL takes the URL out of an error of its parser.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// parseQuery reads ?mode=process|lease, and refuses everything else.
func parseQuery(u *url.URL) (*Options, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: URL of directory %q: query: %w", fencehold.ErrInvalid, u.Path, err)
	}
	opts := &Options{}
	for key, values := range query {
		if key != "mode" || len(values) != 1 {
			return nil, invalid("URL of directory %q: query %q: the only key is mode, given once", u.Path, key)
		}
		switch values[0] {
		case "process":
		case "lease":
			opts.Lease = true
		default:
			return nil, invalid("URL of directory %q: mode %q: must be process or lease", u.Path, values[0])
		}
	}
	return opts, nil
}

// formatURL is the inverse of parseURL.
func formatURL(dir string, lease bool) string {
	u := url.URL{Scheme: "file", Path: path.Join("/", filepath.ToSlash(dir))}
	if lease {
		u.RawQuery = "mode=lease"
	}
	return u.String()
}

// fromURLPath takes the slash before a drive letter off on Windows.
func fromURLPath(p string) string {
	if runtime.GOOS == "windows" {
		p = strings.TrimPrefix(p, "/")
	}
	return filepath.FromSlash(p)
}

// invalid returns an ErrInvalid that names the input and the rule.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fencehold.ErrInvalid}, args...)...)
}
