package fencehold

import (
	"context"

	"github.com/fencehold/fencehold/driver"
)

type (
	// Finding is one thing that was found out about a lock service.
	Finding = driver.Finding
	// Grade is how good a finding is for locks; a larger one is worse.
	Grade = driver.Grade
)

const (
	// GradeGood needs nothing done.
	GradeGood = driver.GradeGood
	// GradeNote is to be known, and a matter of taste.
	GradeNote = driver.GradeNote
	// GradeWarning can break a promise on a bad day.
	GradeWarning = driver.GradeWarning
	// GradeFailure keeps locks from working.
	GradeFailure = driver.GradeFailure
)

// Diagnose examines the lock service: whether what locks need works, how the
// service is set up, and what its locks promise. It disturbs no lock. With an
// error, such as [ErrUnavailable], come the findings before it. A service that
// cannot be examined is [errors.ErrUnsupported].
func (c *Client) Diagnose(ctx context.Context) ([]Finding, error) {
	diagnoser, ok := c.backend.(driver.Diagnoser)
	if err := c.usable(ok, "diagnose"); err != nil {
		return nil, c.wrap("diagnose", "", err)
	}
	findings, err := diagnoser.Diagnose(ctx)
	if err != nil {
		err = c.wrap("diagnose", "", classify(ctx, err))
	}
	return findings, err
}
