// Package flagvalue reads the values of flags as the tools do that people know:
// flock(1), timeout(1) and kill(1).
package flagvalue

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time that is taken, as it is in package fencehold.
const longest = 365 * 24 * time.Hour

// ParseDuration reads "1m30s", and a bare number as seconds, as flock(1) and
// timeout(1) do.
// Hexadecimal numbers and names such as "inf" are refused: they are accidents.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if seconds, bare := strconv.ParseFloat(s, 64); bare == nil && !strings.ContainsAny(s, "xXpPnN_") {
		// Too many seconds would not fit into a duration.
		seconds = max(-1, min(seconds, 2*longest.Seconds()))
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("duration %q: want one such as 1m30s, or a number of seconds", s)
	case d < 0 || d > longest:
		return 0, fmt.Errorf("duration %q: must be between 0 and 365 days", s)
	}
	return d, nil
}

// Duration is a flag that ParseDuration reads.
type Duration struct {
	// Value is the duration, zero if it was not given.
	Value time.Duration
	// Given says that it was given.
	Given bool
}

// Set is called for each time that the flag is given.
func (f *Duration) Set(s string) (err error) {
	f.Value, err = ParseDuration(s)
	f.Given = err == nil
	return err
}

// String is the value as given, empty if it was not.
func (f *Duration) String() string {
	if !f.Given {
		return ""
	}
	return f.Value.String()
}

// Type is the name of the value in the help.
func (f *Duration) Type() string { return "duration" }
