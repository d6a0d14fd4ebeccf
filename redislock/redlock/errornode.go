package redlock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// nodeError is what one node said.
type nodeError struct {
	name string
	err  error
}

func saidBy(name string, err error) error { return &nodeError{name, err} }

// Error names the node, once.
func (e *nodeError) Error() string { return e.name + ": " + e.short() }

// short is the text without the node.
func (e *nodeError) short() string { return strings.TrimPrefix(e.err.Error(), e.name+": ") }

// Unwrap returns the error without the node.
func (e *nodeError) Unwrap() error { return e.err }

// credentialCodes begin what a server says that refuses the client's user.
var credentialCodes = []string{"NOAUTH", "WRONGPASS", "NOPERM"}

// refusedAll sets target, a *[redislock.ServerError], to what a server said which
// refused the user, if so many of the nodes did that the others are no majority. The
// outcome of the rest is not known by that.
func refusedAll(said []error, of int, target any) bool {
	answer, ok := target.(*redislock.ServerError)
	if !ok {
		return false
	}
	refused := 0
	for _, err := range said {
		if said, ok := errors.AsType[redislock.ServerError](err); ok && isCredential(said) {
			*answer = said
			refused++
		}
	}
	return of-refused < quorum.Majority(of)
}

// isCredential reports whether a server's error is about user, password or rights.
func isCredential(err redislock.ServerError) bool {
	for _, code := range credentialCodes {
		if strings.HasPrefix(string(err), code) {
			return true
		}
	}
	return false
}

// errGone is what a node says that has nothing of that name.
var errGone = errors.New("has it no longer")

// holding says whose the lock is at a node that does not have it for the caller.
func (a answer) holding() error {
	v, ours := record.Parse(a.value)
	switch {
	case !a.shows():
		return errGone
	case a.kind != "" && a.kind != "s":
		return fmt.Errorf("held in another format (%s)", a.kind)
	case !ours:
		return errors.New("held by another library")
	case v.About.Owner == "":
		return errors.New("held by another owner")
	}
	return fmt.Errorf("held by %s", v.About.Owner)
}
