package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

func init() {
	for _, scheme := range redisurl.RedlockSchemes() {
		fencehold.Register(scheme, openURL)
	}
}

// namesSet reports whether a URL has a scheme of Redlock.
func namesSet(rawURL string) bool {
	scheme, _, found := strings.Cut(rawURL, "://")
	return found && slices.Contains(redisurl.RedlockSchemes(), scheme)
}

// openURL implements [fencehold.Opener].
func openURL(ctx context.Context, rawURL string) (driver.Backend, error) {
	nodes, opts, err := readSet(rawURL)
	if err != nil {
		return nil, err
	}
	return openNodes(ctx, nodes, opts)
}

// readSet reads the URL of a set.
func readSet(rawURL string) ([]redisurl.URL, Options, error) {
	u, err := redisurl.Parse(rawURL)
	if err != nil {
		return nil, Options{}, fmt.Errorf("%w: %w", fencehold.ErrInvalid, err)
	}
	return u.Nodes(), optionsOf(*u, u.String()), nil
}

// urlOf names servers that were given by a URL each: as one URL where they differ in
// nothing but their address, else as a list with blanks between. There is no
// password in it.
func urlOf(nodes []redisurl.URL) string {
	if set, ok := redisurl.Join(nodes); ok {
		return set.String()
	}
	list := make([]string, len(nodes))
	for i, u := range nodes {
		list[i] = u.String()
	}
	return strings.Join(list, " ")
}
