//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/config"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/exitcode"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// urlFlag is --url, which may be given several times, once for each server of a
// Redlock set. It implements [pflag.Value].
type urlFlag []string

// String returns all URLs as one setting.
func (f *urlFlag) String() string { return config.JoinURLs(*f) }

// Set adds a URL.
func (f *urlFlag) Set(url string) error {
	*f = append(*f, url)
	return nil
}

// Type is what the help calls the value.
func (f *urlFlag) Type() string { return "string" }

// checkURLs refuses several --url of which one is not that of a server: a list of
// them would be taken for one URL.
func (a *app) checkURLs() error {
	f := a.flags.Lookup("url")
	if f == nil {
		return nil
	}
	urls, ok := f.Value.(*urlFlag)
	if !ok || len(*urls) < 2 || len(config.URLs(urls.String())) > 1 {
		return nil
	}
	return &exitcode.UsageError{See: helpURLs, Err: fmt.Errorf("--url given %d times: "+
		"then each must be that of one Redis server, and all together are a Redlock set", len(*urls))}
}

// ofRedlock is an error of opening a Redlock set, which blames whoever set the URL.
func (a *app) ofRedlock(c *config.Config, err error) error {
	if errors.Is(err, fencehold.ErrInvalid) {
		return a.invalidURL(c, err)
	}
	return ofOpen(err)
}

// connect opens what the setting url says: one lock service, or the servers of a
// Redlock set.
func connect(ctx context.Context, setting string, opts ...fencehold.Option) (*fencehold.Client, error) {
	urls := config.URLs(setting)
	if len(urls) == 1 {
		return fencehold.Open(ctx, urls[0], opts...)
	}
	backend, err := redlock.Open(ctx, urls...)
	if err != nil {
		return nil, ofOpen(err)
	}
	client, err := fencehold.New(backend, opts...)
	if err != nil {
		_ = backend.Close()
	}
	return client, err
}

// ofOpen does for an error of several servers what [fencehold.Open] does for one:
// what is no mistake of the caller is unavailability.
func ofOpen(err error) error {
	if !errors.Is(err, fencehold.ErrInvalid) && !errors.Is(err, fencehold.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", fencehold.ErrUnavailable, err)
	}
	return &fencehold.Error{Op: "open", Backend: "redlock", Err: err}
}
