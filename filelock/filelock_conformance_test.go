//go:build unix

package filelock_test

import (
	"testing"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock"
	"github.com/fencehold/fencehold/locktest"
)

func TestConformance(t *testing.T) {
	for name, opts := range map[string]*filelock.Options{
		"process": nil,
		"lease":   {Lease: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			locktest.Run(t, func(t *testing.T) driver.Backend { return newBackend(t, dir, opts) })
		})
	}
}
