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
	u, err := redisurl.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fencehold.ErrInvalid, err)
	}
	return openNodes(ctx, u.Nodes(), Options{
		Prefix: u.Prefix, NoPrefix: u.Prefix == "", MaxTTL: u.MaxTTL, Drift: u.Drift, NodeTimeout: u.NodeTimeout,
		url: u.String(),
	})
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
