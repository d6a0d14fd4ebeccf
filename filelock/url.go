package filelock

import (
	"context"
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
func parseURL(rawURL string) (string, *Options, error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%w: %w", fencehold.ErrInvalid, err)
	case u.Host != "" || u.Opaque != "":
		return "", nil, invalid("URL %q: the directory must be absolute: want file:///DIR", u.Redacted())
	case u.User != nil || u.Fragment != "":
		return "", nil, invalid("URL %q: only a directory and a query are allowed", u.Redacted())
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

// parseQuery reads ?mode=process|lease, and refuses everything else.
func parseQuery(u *url.URL) (*Options, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: URL %q: %w", fencehold.ErrInvalid, u, err)
	}
	opts := &Options{}
	for key, values := range query {
		if key != "mode" || len(values) != 1 {
			return nil, invalid("URL %q: query %q: the only key is mode, given once", u, key)
		}
		switch values[0] {
		case "process":
		case "lease":
			opts.Lease = true
		default:
			return nil, invalid("URL %q: mode %q: must be process or lease", u, values[0])
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
