package redlock

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// What is still a good clock: a node takes no number that is more than aheadAtMost
// ahead of it.
const (
	aheadAtMost = time.Minute
	goodSpread  = time.Second
)

// clocks compares those of the nodes with each other.
func (e *examination) clocks() {
	answered := e.census.answered()
	byClock := func(a, b standing) int { return cmp.Compare(a.ahead, b.ahead) }
	first, last := slices.MinFunc(answered, byClock), slices.MaxFunc(answered, byClock)
	spread, within := last.ahead-first.ahead, first.within+last.within
	switch certain := spread - within; {
	case certain > aheadAtMost:
		e.found(driver.GradeWarning, "clocks", "that of %s is %v ahead of that of %s: more than %v, so every lock needs a "+
			"second round for its token; and a clock that is set in a step can end locks too soon",
			last.seat.name, coarse(spread), first.seat.name, aheadAtMost)
	case certain > goodSpread:
		e.found(driver.GradeNote, "clocks", "that of %s is %v ahead of that of %s: locks do not depend on it, but a clock "+
			"that is set right in a step can end them too soon", last.seat.name, coarse(spread), first.seat.name)
	default:
		e.found(driver.GradeGood, "clocks", "those of the servers differ by %v at most, to within %v",
			spread.Round(time.Microsecond), within.Round(time.Microsecond))
	}
}

// promise says in plain words what a lock is worth now.
func (e *examination) promise() {
	n := len(e.census)
	majority, voters := quorum.Majority(n), len(e.census.having(e.marker()))
	if e.census.founding() {
		e.found(driver.GradeNote, "promise", "no server belongs to a set yet: the first lock founds one of %d", n)
		voters = n
	}
	switch spare := voters - majority; {
	case spare < 0 || parseTitle(e.marker()).nodes != n && voters != n:
		e.found(driver.GradeFailure, "promise", "%d of %d servers vote, and a lock takes %d: there are no locks now; "+
			"see fencehold redlock repair", voters, n, majority)
		return
	case spare == 0:
		e.found(driver.GradeWarning, "promise", "%d of %d servers vote, and a lock takes %d: none of them may fail now",
			voters, n, majority)
	case voters < n:
		e.found(driver.GradeWarning, "promise", "%d of %d servers vote, and a lock takes %d: %d more of them may fail",
			voters, n, majority, spare)
	default:
		e.found(driver.GradeGood, "promise", "all %d servers vote, and a lock takes %d: %d of them may fail",
			n, majority, spare)
	}
	e.found(driver.GradeNote, "promise", "one holder at a time, by time, while fewer servers than that forget a lock or "+
		"have their clock set, and all clocks run at the same rate to within %.3g%%", e.b.opts.Drift*100)
	e.found(driver.GradeNote, "promise", "fencing tokens rise and are never given twice while no majority loses its "+
		"memory at once: a check of the token where the write lands refuses the older holder, whatever the clocks do")
}
