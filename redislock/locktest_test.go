package redislock_test

import (
	"context"
	"testing"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/redislock"
)

func TestSingle(t *testing.T) { locktest.Run(t, opens(testcluster.StartRedis(t).URL())) }

func TestSentinel(t *testing.T) { locktest.Run(t, opens(testcluster.StartSentinel(t, 2, 3).URL())) }

func TestCluster(t *testing.T) { locktest.Run(t, opens(testcluster.StartCluster(t, 3, 0).URL())) }

func TestLeaks(t *testing.T) { locktest.RunLeaks(t, opens(testcluster.StartRedis(t).URL())) }

// opens returns what opens connections to a URL.
func opens(url string) func(*testing.T) driver.Backend {
	return func(t *testing.T) driver.Backend { return openBackend(t, url) }
}

func openBackend(t testing.TB, url string) driver.Backend {
	t.Helper()
	backend, err := redislock.Open(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	return backend
}
