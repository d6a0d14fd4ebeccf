package goredislock_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/goredislock"
)

// backendOn returns a backend on a client, both closed with the test.
func backendOn(t *testing.T, client redis.UniversalClient, opts *redislock.Options) driver.Backend {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	backend, err := goredislock.New(client, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	return backend
}

// addrsOf returns where servers are.
func addrsOf(servers []*testcluster.Redis) []string {
	addrs := make([]string, len(servers))
	for i, server := range servers {
		addrs[i] = server.Addr()
	}
	return addrs
}

// failoverClient returns a client of a set under Sentinel.
func failoverClient(set *testcluster.Sentinel) *redis.Client {
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: testcluster.PrimaryName, SentinelAddrs: addrsOf(set.Sentinels()),
	})
}

func TestSingle(t *testing.T) {
	server := testcluster.StartRedis(t)
	locktest.Run(t, func(t *testing.T) driver.Backend {
		return backendOn(t, redis.NewClient(&redis.Options{Addr: server.Addr()}), nil)
	})
}

func TestSentinel(t *testing.T) {
	set := testcluster.StartSentinel(t, 1, 3)
	locktest.Run(t, func(t *testing.T) driver.Backend { return backendOn(t, failoverClient(set), nil) })
}

func TestCluster(t *testing.T) {
	cluster := testcluster.StartCluster(t, 3, 0)
	locktest.Run(t, func(t *testing.T) driver.Backend {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrsOf(cluster.Nodes())})
		return backendOn(t, client, nil)
	})
}
