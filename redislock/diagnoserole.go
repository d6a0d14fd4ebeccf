package redislock

import (
	"context"
	"strings"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold/driver"
)

// checkRole finds out at first whether this is a server at all, and one that
// talks to us.
func (e *examination) checkRole(ctx context.Context) {
	reply, refused := e.ask(ctx, "ROLE")
	parts, _ := reply.([]any)
	switch {
	case e.err != nil:
	case code(explain(refused)) == "NOAUTH":
		e.unfit = true
		e.found(driver.GradeFailure, "user", "%v", explain(refused))
	case len(parts) > 0 && parts[0] == "sentinel":
		e.unfit = true
		e.found(driver.GradeFailure, "role", "this is a Sentinel: use redis+sentinel://HOST/MASTER")
	}
}

// others are the nodes of a client that has found no primary, as far as they
// explain that.
func (b *backend) others(ctx context.Context) ([]*examination, error) {
	c, ok := b.conn.(*rueidisConn)
	if !ok {
		return nil, nil
	}
	var all []*examination
	for addr, node := range c.client.Nodes() {
		e := newExamination(b, addr, askedOf(node))
		if e.checkRole(ctx); e.err != nil {
			return all, e.err
		}
		if e.unfit {
			all = append(all, e)
		}
	}
	return all, nil
}

// askedOf returns a function that sends one command to a node.
func askedOf(node rueidis.Client) Do {
	return func(ctx context.Context, args ...string) (any, error) {
		v, err := node.Do(ctx, node.B().Arbitrary(args...).Build()).ToAny()
		return v, serverError(err)
	}
}

// askedForCluster tells whether the URL is that of a Cluster.
func (b *backend) askedForCluster() bool {
	scheme, _, _ := strings.Cut(b.info.URL, "://")
	return strings.HasSuffix(scheme, "+cluster")
}

// checkKind compares what the URL says with what is there: rueidis talks to one
// server if a Cluster was asked for, and there is none.
func (e *examination) checkKind(context.Context) {
	if e.b.askedForCluster() && e.b.conn.Mode() != Cluster {
		e.found(driver.GradeWarning, "server", "this server is no Cluster: redis:// is meant")
	}
}
