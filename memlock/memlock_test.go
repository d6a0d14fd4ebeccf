package memlock_test

import (
	"testing"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/memlock"
)

func TestConformance(t *testing.T) {
	server := memlock.New()
	locktest.Run(t, func(*testing.T) driver.Backend { return server.Backend() })
}
