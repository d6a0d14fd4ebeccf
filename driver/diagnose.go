package driver

import "context"

// Diagnoser is a Backend that can examine its service.
type Diagnoser interface {
	// Diagnose tries what locks need and looks at how the service is set up.
	// It disturbs no lock, and leaves nothing behind. What the service does not
	// let it see is a finding, not an error; with an error comes what was found
	// before it.
	Diagnose(ctx context.Context) ([]Finding, error)
}

// Finding is one thing that was found out about a lock service.
type Finding struct {
	// Server is the address of the server that it is about, empty for the
	// service as a whole.
	Server string
	// Subject is what was looked at, in a word or two, such as "memory".
	Subject string
	// Grade is how good that is for locks.
	Grade Grade
	// Text says it in plain words, on one line.
	Text string
}

// Grade is how good a finding is for locks; a larger one is worse.
type Grade int

const (
	// GradeGood needs nothing done.
	GradeGood Grade = iota
	// GradeNote is to be known, and a matter of taste.
	GradeNote
	// GradeWarning can break a promise on a bad day.
	GradeWarning
	// GradeFailure keeps locks from working.
	GradeFailure
)

// String returns good, note, warning or failure.
func (g Grade) String() string {
	switch g {
	case GradeGood:
		return "good"
	case GradeNote:
		return "note"
	case GradeWarning:
		return "warning"
	default:
		return "failure"
	}
}
