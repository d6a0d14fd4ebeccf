package redlock_test

import (
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/redislock/redlock"
)

func BenchmarkThreeNodes(b *testing.B) { benchNodes(b, 3) }

func BenchmarkFiveNodes(b *testing.B) { benchNodes(b, 5) }

func benchNodes(b *testing.B, n int) {
	urls := startURLs(b, n)
	locktest.Bench(b, func(b *testing.B) driver.Backend {
		return open(b, urls, redlock.Options{NodeTimeout: time.Second})
	})
}
