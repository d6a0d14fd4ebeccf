// Package clocktest skews the clocks of this process, for tests. The skew is
// the whole process's: tests that use it do not run in parallel with others.
package clocktest

import (
	"testing"
	"time"

	"github.com/fencehold/fencehold/internal/clock"
)

// StepWall sets the wall clock forward by d, or back, until the test ends.
func StepWall(t *testing.T, d time.Duration) {
	clock.StepWall(d)
	t.Cleanup(func() { clock.StepWall(-d) })
}

// Suspend lets the process believe that the machine slept for d.
func Suspend(t *testing.T, d time.Duration) {
	clock.Suspend(d)
	t.Cleanup(func() { clock.Suspend(-d) })
}
