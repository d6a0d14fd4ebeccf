package clock

import "time"

// StepWall sets the wall clock of this process forward by d, or back. It is
// for tests, through package clocktest.
func StepWall(d time.Duration) { wallSkew.Add(int64(d)) }

// Suspend lets this process believe that the machine was suspended for d. It
// is for tests, through package clocktest.
func Suspend(d time.Duration) { asleepSkew.Add(int64(d)) }
