package fencehold

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencehold/fencehold/driver"
)

// settled reports whether a backend's error says what happened. Every other
// error leaves it open whether the service did what it was asked.
func settled(err error) bool {
	for _, known := range []error{ErrHeld, ErrLost, ErrReleased, ErrInvalid, ErrClosed, errors.ErrUnsupported} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// outcomeUnknown reports whether the service may have done what it was asked.
func outcomeUnknown(err error) bool {
	return err != nil && !settled(err) && !errors.Is(err, driver.ErrRefused)
}

// classify names an error of a backend: settled outcomes are kept, the
// caller's context explains what it ended, and the rest is unavailability.
func classify(ctx context.Context, err error) error {
	switch {
	case err == nil || settled(err):
		return err
	case ctx.Err() != nil:
		return contextError(ctx)
	}
	return unavailable(ofAttempt(err))
}

// ofAttempt keeps the time limits of this library from looking like the end of
// the caller's context.
func ofAttempt(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer in time (%v)", err) //nolint:errorlint // hiding it is the point
	}
	return err
}

// contextError is the context's error, with its cause where that says more.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if settled(cause) || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func unavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
