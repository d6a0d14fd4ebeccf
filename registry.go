package fencehold

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/fencehold/fencehold/driver"
)

// An Opener connects to the lock service that rawURL describes. It gets the
// string as it was given, since a list of hosts is not a [net/url.URL]. Its
// errors name what is wrong with the URL and never show a password.
type Opener func(ctx context.Context, rawURL string) (driver.Backend, error)

var registry = struct {
	sync.RWMutex
	openers map[string]Opener
}{openers: map[string]Opener{}}

// packages tells which package registers a scheme that nobody registered.
var packages = map[string]string{
	"file": "filelock", "mem": "memlock",
	"redis": "redislock", "redis+sentinel": "redislock", "redis+cluster": "redislock",
	"rediss": "redislock", "rediss+sentinel": "redislock", "rediss+cluster": "redislock",
	"valkey": "redislock", "valkey+sentinel": "redislock", "valkey+cluster": "redislock",
	"valkeys": "redislock", "valkeys+sentinel": "redislock", "valkeys+cluster": "redislock",
	"redis+unix": "redislock", "valkey+unix": "redislock", "unix": "redislock",
	"redis-sentinel": "redislock", "rediss-sentinel": "redislock",
	"redlock": "redislock/redlock", "redlocks": "redislock/redlock",
	"redis+redlock": "redislock/redlock", "rediss+redlock": "redislock/redlock",
	"valkey+redlock": "redislock/redlock", "valkeys+redlock": "redislock/redlock",
}

// Register makes [Open] use open for URLs with this scheme. Backend packages
// call it from init. It panics if the scheme is taken.
func Register(scheme string, open Opener) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.openers[scheme]; taken {
		panic("fencehold: scheme registered twice: " + scheme)
	}
	registry.openers[scheme] = open
}

// opener returns the opener for the scheme of rawURL.
func opener(rawURL string) (Opener, error) {
	scheme, _, found := strings.Cut(rawURL, "://")
	if !found {
		return nil, invalid("URL has no scheme: want one such as file:///var/lib/locks")
	}
	registry.RLock()
	defer registry.RUnlock()
	if open, ok := registry.openers[scheme]; ok {
		return open, nil
	}
	if pkg, ok := packages[scheme]; ok {
		return nil, invalid("URL scheme %q: import github.com/fencehold/fencehold/%s to use it", scheme, pkg)
	}
	if near := meant(scheme); near != "" {
		return nil, invalid("URL scheme %q is not known: is %q meant?", scheme, near)
	}
	return nil, invalid("URL scheme %q is not known: want one of %s", scheme, strings.Join(schemes(), ", "))
}

func schemes() []string {
	var names []string
	for name := range registry.openers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// meant returns the scheme that name is a slip of, "" if there is none: one with
// a byte too many, too few or wrong, or with two of them swapped.
func meant(name string) string {
	name = strings.ToLower(name)
	for _, scheme := range schemes() {
		if isSlip(name, scheme) {
			return scheme
		}
	}
	return ""
}

// isSlip compares what is left of two names without their common ends.
func isSlip(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 && len(b) <= 1 || swapped
}
