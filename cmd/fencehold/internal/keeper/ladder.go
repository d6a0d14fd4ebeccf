package keeper

import "time"

// A ladder says when a command that must end is told, and when it is killed.
// It holds times of one clock and does nothing by itself.
type ladder struct {
	deadline time.Duration // end of the lease, 0 if there is none
	notice   time.Duration // time before the deadline at which the command is told
	killAt   time.Duration // end of the grace of a command that was told, 0 if it was not
	told     bool
	killed   bool
	paused   bool // the deadline does not count
}

// A step is what a ladder asks for.
type step int

const (
	stepNone step = iota
	stepTell
	stepKill
)

// due returns the step to take at now, and remembers it.
// KILL comes before the notice: after a suspend both may be due, and a command that
// is woken by a signal only to be killed could write in between.
func (l *ladder) due(now time.Duration) step {
	switch {
	case l.killed:
		return stepNone
	case l.lastAt() != 0 && l.lastAt() <= now:
		l.killed = true
		return stepKill
	case !l.told && l.tellAt() != 0 && l.tellAt() <= now:
		l.told = true
		return stepTell
	}
	return stepNone
}

// overdue reports whether the end of the lease is near or past.
func (l *ladder) overdue(now time.Duration) bool { return l.tellAt() != 0 && l.tellAt() <= now }

// next is when due has to be asked again, 0 for never.
// A ladder that has killed is at its end: what is left is to wait.
func (l *ladder) next() time.Duration {
	switch {
	case l.killed:
		return 0
	case l.told || l.tellAt() == 0:
		return l.lastAt()
	case l.lastAt() == 0:
		return l.tellAt()
	}
	return min(l.tellAt(), l.lastAt())
}

// tell begins the grace now. A later call may shorten it, never lengthen it.
// Shorter graces come from those who know more: the loss of the lock after a TERM of
// the user, the end of the wrapper after both.
func (l *ladder) tell(now, grace time.Duration) {
	l.told = true
	if at := now + grace; l.killAt == 0 || at < l.killAt {
		l.killAt = at
	}
}

// tellAt is when the command is told that the lease is about to end, 0 for never.
func (l *ladder) tellAt() time.Duration {
	if l.deadline == 0 || l.paused {
		return 0
	}
	return max(l.deadline-l.notice, 1)
}

// lastAt is when the command is killed: at the end of its grace or of the lease,
// whichever comes first.
func (l *ladder) lastAt() time.Duration {
	switch {
	case l.deadline == 0 || l.paused:
		return l.killAt
	case l.killAt == 0:
		return l.deadline
	}
	return min(l.killAt, l.deadline)
}
