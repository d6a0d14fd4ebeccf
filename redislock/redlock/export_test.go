package redlock

import (
	"context"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// OpenWith is [Open] with options.
func OpenWith(ctx context.Context, opts Options, urls ...string) (driver.Backend, error) {
	nodes := make([]redisurl.URL, len(urls))
	for i, raw := range urls {
		u, err := redisurl.Parse(raw)
		if err != nil {
			return nil, err
		}
		nodes[i] = *u
	}
	return openNodes(ctx, nodes, opts)
}

// The digests by which tests know a request.
var (
	SettleSHA = settleScript.SHA1()
	MendSHA   = mendScript.SHA1()
	RenewSHA  = renewScript.SHA1()
)
