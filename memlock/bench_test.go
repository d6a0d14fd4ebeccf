package memlock_test

import (
	"testing"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/memlock"
)

func Benchmark(b *testing.B) {
	server := memlock.New()
	locktest.Bench(b, func(*testing.B) driver.Backend { return server.Backend() })
}
