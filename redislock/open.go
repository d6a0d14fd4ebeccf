package redislock

import (
	"context"
	"fmt"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/dial"
	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// answerLimit is how long a request of a client that was opened by URL may take.
const answerLimit = dial.AnswerLimit

func init() {
	for _, scheme := range redisurl.Schemes() {
		fencehold.Register(scheme, open)
	}
}

// open implements [fencehold.Opener].
func open(ctx context.Context, rawURL string) (driver.Backend, error) {
	u, err := redisurl.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fencehold.ErrInvalid, err)
	}
	client, err := dial.Client(ctx, u)
	if err != nil {
		return nil, err
	}
	opts := &Options{
		Prefix: u.Prefix, NoPrefix: u.Prefix == "", MinReplicas: u.MinReplicas, ReplicaTimeout: u.ReplicaTimeout,
		url: u.String(),
	}
	backend, err := NewConn(&rueidisConn{client: client, owned: true}, opts)
	if err != nil {
		client.Close()
	}
	return backend, err
}
