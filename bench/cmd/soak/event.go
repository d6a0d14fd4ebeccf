//go:build linux

package main

import "fmt"

// The kinds of events.
const (
	waits   = "w" // begins to wait
	granted = "g" // has the lock
	uses    = "u" // still has it
	ended   = "e" // has released it
	lost    = "l" // has it no more
	failed  = "f" // waits no more, in vain
)

// event is what a client tells of one of its goroutines, in one line.
type event struct {
	kind      string
	goroutine int
	name      string
	token     int64
	// at was read before the lease was asked whether it is valid, and so is a
	// moment at which the holder believed in it.
	at int64
}

// String is the line.
func (e event) String() string {
	return fmt.Sprintf("%s %d %s %d %d\n", e.kind, e.goroutine, e.name, e.token, e.at)
}

// parseEvent reads a line. The last line of a client that was killed may be
// cut off.
func parseEvent(line string) (event, error) {
	var e event
	_, err := fmt.Sscanf(line, "%s %d %s %d %d", &e.kind, &e.goroutine, &e.name, &e.token, &e.at)
	return e, err
}
