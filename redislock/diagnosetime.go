package redislock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// What is still a good clock, and what a good answer time.
const (
	maxOffset = time.Second
	maxMedian = 10 * time.Millisecond
	maxSlow   = 100 * time.Millisecond
)

// pings is how many requests are timed.
const pings = 20

// checkClock compares the clock of the server with ours. Its answer was made
// at some moment of the round trip.
func (e *examination) checkClock(ctx context.Context) {
	sent := time.Now()
	reply, refused := e.ask(ctx, "TIME")
	half := time.Since(sent) / 2
	there, ok := timeOf(reply)
	if refused != nil || !ok {
		e.unseen("clock", "the clock of the server (TIME)")
		return
	}
	offset := there.Sub(sent.Add(half))
	text := fmt.Sprintf("%s our clock, to within %v", aheadOf(offset), fine(half))
	if offset.Abs()-half > maxOffset {
		e.found(driver.GradeWarning, "clock", "%s: how long leases are valid does not depend on it, but tokens follow "+
			"it, and would fall back after a move to a server that is right", text)
		return
	}
	e.found(driver.GradeGood, "clock", "%s", text)
}

// aheadOf writes an offset.
func aheadOf(offset time.Duration) string {
	if offset < 0 {
		return fine(-offset).String() + " behind"
	}
	return fine(offset).String() + " ahead of"
}

// fine rounds to what a person wants to know.
func fine(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}

// timeOf reads the seconds and microseconds of TIME.
func timeOf(reply any) (time.Time, bool) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return time.Time{}, false
	}
	s, err1 := strconv.ParseInt(fmt.Sprint(parts[0]), 10, 64)
	us, err2 := strconv.ParseInt(fmt.Sprint(parts[1]), 10, 64)
	return time.Unix(s, us*1000), err1 == nil && err2 == nil
}

// checkLatency times some requests.
func (e *examination) checkLatency(ctx context.Context) {
	var took []time.Duration
	for range pings {
		sent := time.Now()
		if _, refused := e.ask(ctx, "PING"); refused != nil {
			e.unseen("latency", "how fast the server answers (PING)")
			return
		}
		took = append(took, time.Since(sent))
	}
	slices.Sort(took)
	median, slowest := took[pings/2], took[pings-1]
	grade, advice := driver.GradeGood, ""
	if median > maxMedian || slowest > maxSlow {
		grade = driver.GradeNote
		advice = fmt.Sprintf(": a TTL below %v is at risk", (30 * slowest).Round(100*time.Millisecond))
	}
	e.found(grade, "latency", "median %v, slowest %v of %d%s", fine(median), fine(slowest), pings, advice)
}
