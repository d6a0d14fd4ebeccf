package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold/internal/clock"
	"github.com/fencehold/fencehold/internal/clocktest"
)

func TestElapsedFollowsTheMonotonicClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, mono := clock.Now(), clock.Monotonic()
		time.Sleep(3 * time.Second)
		for _, i := range []clock.Instant{full, mono} {
			if d := i.Elapsed(); d != 3*time.Second {
				t.Errorf("elapsed %v after 3s", d)
			}
		}
		if d := full.WallElapsed(); d != 3*time.Second {
			t.Errorf("wall clock elapsed %v after 3s", d)
		}
	})
}

func TestSuspendedTimeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, mono := clock.Now(), clock.Monotonic()
		clocktest.Suspend(t, time.Hour)
		if d := full.Elapsed(); d != time.Hour {
			t.Errorf("elapsed %v while the machine slept for an hour", d)
		}
		if d := mono.Elapsed(); d != 0 {
			t.Errorf("an instant on the monotonic clock alone counted %v of sleep", d)
		}
		if d := clock.Now().Elapsed(); d != 0 {
			t.Errorf("sleep before an instant counted: %v", d)
		}
	})
}

func TestWallClockSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := clock.Now()
		clocktest.StepWall(t, time.Minute)
		if d := before.WallElapsed(); d != time.Minute {
			t.Errorf("wall clock elapsed %v after a step of a minute", d)
		}
		if d := before.Elapsed(); d != 0 {
			t.Errorf("a step of the wall clock is not certain: elapsed %v", d)
		}
		clocktest.StepWall(t, -time.Hour)
		if d := before.WallElapsed(); d >= 0 {
			t.Errorf("wall clock elapsed %v after a step back", d)
		}
		if d := clock.Monotonic().WallElapsed(); d != 0 {
			t.Errorf("an instant on the monotonic clock alone looked at the wall: %v", d)
		}
	})
}

// The two kernel clocks do not drift apart while the machine is awake.
func TestAwakeMachineDoesNotSleep(t *testing.T) {
	start := clock.Now()
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
		elapsed := start.Elapsed()
		// Read later, so that a pause of this test is no sleep.
		if d := elapsed - time.Since(start.Time()); d > 0 {
			t.Fatalf("an awake machine slept for %v", d)
		}
	}
}

func TestZeroInstant(t *testing.T) {
	var zero clock.Instant
	if !zero.IsZero() || clock.Now().IsZero() {
		t.Error("only the zero Instant is no moment")
	}
}
