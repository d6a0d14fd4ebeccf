package redlock_test

import (
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/redislock/redlock"
)

func TestThreeNodes(t *testing.T) { locktest.Run(t, opens(startURLs(t, 3))) }

func TestFiveNodes(t *testing.T) { locktest.Run(t, opens(startURLs(t, 5))) }

func TestLeaks(t *testing.T) { locktest.RunLeaks(t, opens(startURLs(t, 3))) }

// startURLs starts n servers.
func startURLs(t testing.TB, n int) []string {
	t.Helper()
	urls := make([]string, n)
	for i := range urls {
		urls[i] = testcluster.StartRedis(t).URL()
	}
	return urls
}

// opens returns what opens connections to a set.
func opens(urls []string) func(*testing.T) driver.Backend {
	return func(t *testing.T) driver.Backend { return open(t, urls, suiteOptions) }
}

// suiteOptions allow for the long TTLs of the suite, and for a busy machine.
var suiteOptions = redlock.Options{MaxTTL: time.Hour, NodeTimeout: time.Second}
