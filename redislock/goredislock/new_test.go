package goredislock

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/redislock"
)

func TestRefused(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	pipeliner, err := client.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ring := redis.NewRing(&redis.RingOptions{})
	t.Cleanup(func() { _ = ring.Close() })
	failover := redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "m"})
	t.Cleanup(func() { _ = failover.Close() })
	for _, test := range []struct {
		name   string
		client redis.UniversalClient
		opts   *redislock.Options
		want   string
	}{
		{"nil", nil, nil, "client is nil"},
		{"nil client", (*redis.Client)(nil), nil, "client is nil"},
		{"nil cluster client", (*redis.ClusterClient)(nil), nil, "client is nil"},
		{"ring", ring, nil, "Ring"},
		{"replicas for reading", failover, nil, "NewFailoverClient"},
		{"pipeliner", pipeliner, nil, "*redis.AutoPipeliner"},
		{"option", client, &redislock.Options{Prefix: "{"}, `prefix "{"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(test.client, test.opts)
			if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestMode(t *testing.T) {
	for _, test := range []struct {
		name   string
		client redis.UniversalClient
		want   redislock.Mode
	}{
		{"single", redis.NewClient(&redis.Options{}), redislock.Single},
		{"sentinel", redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m"}), redislock.Sentinel},
		{"universal", redis.NewUniversalClient(&redis.UniversalOptions{MasterName: "m"}), redislock.Sentinel},
		{"cluster", redis.NewClusterClient(&redis.ClusterOptions{}), redislock.Cluster},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer test.client.Close()
			c, err := newConn(test.client)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Mode(); got != test.want {
				t.Errorf("mode %v, want %v", got, test.want)
			}
		})
	}
}
