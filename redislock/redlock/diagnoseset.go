package redlock

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
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

// promise says in plain words what a lock is worth now, if it can be had at all.
func (e *examination) promise(ctx context.Context) {
	n, majority, voters := len(e.census), quorum.Majority(len(e.census)), len(e.voters())
	switch err := e.refused(ctx); {
	case err != nil:
		e.found(driver.GradeFailure, "promise", "there are no locks now: %s", reasonOf(err))
		return
	case len(e.unfit) > 0 && voters < majority, e.census.founding() && voters < n:
		e.found(driver.GradeFailure, "promise", "there are no locks now: without %s, %d of %d servers %s",
			e.unfit.names(), voters, n, verb(voters, "votes", "vote"))
		return
	case e.census.founding():
		e.found(driver.GradeNote, "promise", "no server belongs to a set yet: the first lock founds one of %d", n)
	}
	switch spare := voters - majority; {
	case spare <= 0:
		e.found(driver.GradeWarning, "promise", "%d of %d servers vote, and a lock takes %d: none of them may fail now",
			voters, n, majority)
	case voters < n:
		e.found(driver.GradeWarning, "promise", "%d of %d servers vote, and a lock takes %d: %d more of them may fail",
			voters, n, majority, spare)
	default:
		e.found(driver.GradeGood, "promise", "all %d servers vote, and a lock takes %d: %d of them may fail",
			n, majority, spare)
	}
	e.found(driver.GradeNote, "promise", "one holder at a time, by time, while no more servers than can be spared forget "+
		"a lock or have their clock set, and all clocks run at the same rate to within %.3g%%", e.b.opts.Drift*100)
	e.found(driver.GradeNote, "promise", "fencing tokens rise and are never given twice while no majority loses its "+
		"memory at once; then they go on by the clients' clocks: a check of the token where the write lands refuses the "+
		"older holder")
}

// refused is what the next client that asks for a lock is answered, nil if it can have
// one.
func (e *examination) refused(ctx context.Context) error {
	if err := e.b.distinct(ctx); err != nil {
		return err
	}
	return e.b.members.verdict(e.census, e.b.members.claim())
}

// voters are the nodes that can vote for the next lock.
func (e *examination) voters() census {
	voting := e.census.answered()
	if e.census.settled() {
		voting = e.census.having(e.marker())
	}
	return slices.DeleteFunc(voting, func(s standing) bool {
		return slices.ContainsFunc(e.unfit, func(u standing) bool { return u.seat == s.seat })
	})
}

// reasonOf is an error without the class that it belongs to.
func reasonOf(err error) string {
	return strings.TrimPrefix(err.Error(), fencehold.ErrInvalid.Error()+": ")
}

// share says once for the set what is found of a subject at each node in the same words.
func (e *examination) share(subject string, nodes []*examination) {
	var first *driver.Finding
	about := func(f driver.Finding) bool { return f.Subject == subject }
	for _, n := range nodes {
		i := slices.IndexFunc(n.findings, about)
		switch {
		case i < 0:
			return
		case first == nil:
			first = &n.findings[i]
		case first.Text != n.findings[i].Text || first.Grade != n.findings[i].Grade:
			return
		}
	}
	e.found(first.Grade, subject, "of each server: %s", first.Text)
	for _, n := range nodes {
		n.findings = slices.DeleteFunc(n.findings, about)
	}
}
