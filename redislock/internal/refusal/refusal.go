// Package refusal knows what the errors of a Redis server mean for a lock.
package refusal

import (
	"errors"
	"strings"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// ServerError is an error that the server answered. It begins with a code in
// capital letters, such as READONLY.
type ServerError string

// Error returns the server's text.
func (e ServerError) Error() string { return string(e) }

// OfClient marks what the server answered among the errors of a rueidis client;
// null is no error.
func OfClient(err error) error {
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if answered, ok := rueidis.IsRedisErr(err); ok {
		return ServerError(answered.Error())
	}
	return err
}

// Answered says whether an error is the answer of a server.
func Answered(err error) bool {
	_, answered := errors.AsType[ServerError](err)
	return answered
}

// hints say in plain words what a server's error means for a lock.
var hints = []struct{ code, text string }{
	{"NOPERM", "the user lacks a right; package redislock and \"fencehold help redis\" list those that locks need"},
	{"NOAUTH", wantsPassword},
	{"WRONGPASS", "user or password is wrong"},
	{"READONLY", "this server is a replica"},
	{"OOM", "the server is out of memory"},
	{"LOADING", "the server is loading its data"},
	{"MASTERDOWN", "the server has lost its primary"},
	{"CLUSTERDOWN", "the cluster does not serve this slot"},
	{"TRYAGAIN", "the slot is being moved"},
	{"NOREPLICAS", "too few replicas are connected"},
	{"MISCONF", "the server cannot write to its disk, and so refuses to change anything"},
	{"CROSSSLOT", "this is a Redis Cluster: use a redis+cluster:// URL"},
	{"MOVED", "this is a Redis Cluster: use a redis+cluster:// URL"},
}

// wantsPassword is said where a server has one and got none.
const wantsPassword = "the server wants a password"

// sayings are the beginnings of errors that have no code of their own, in lower
// case, with the code that Explain gives them.
var sayings = []struct{ head, code, text string }{
	// The answer to a request too long for who has not logged in.
	{"protocol error: unauthenticated", "NOAUTH", wantsPassword},
	{"unknown command 'evalsha'", "NOSCRIPTS", "this is a Sentinel (use redis+sentinel://HOST/MASTER), or a service " +
		"without scripts"},
	{"unknown command 'sentinel'", "NOSENTINEL", "this is no Sentinel (use redis://)"},
	{"no such master with that name", "NOMASTER", "the Sentinel knows no master of the name in the URL"},
	{"this instance has cluster support disabled", "NOCLUSTER", "this server is no Cluster (use redis://)"},
	{"select is not allowed in cluster mode", "CLUSTER", "this is a Redis Cluster (use redis+cluster://)"},
	{"db index is out of range", OutOfRange, "the server has no database of this number"},
}

// OutOfRange is the code of a database that the server does not have.
const OutOfRange = "NODATABASE"

// saying returns what is known of an error by its text, nil if nothing is.
func saying(answered ServerError) error {
	// Old servers quote the names of commands in another way.
	text := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(answered), "ERR "), "`", "'"))
	for _, s := range sayings {
		if strings.HasPrefix(text, s.head) {
			return &refusedError{code: s.code, hint: s.text, err: answered}
		}
	}
	return nil
}

// refusedError is an error that the server answered: nothing was done.
type refusedError struct {
	code, hint string
	err        error
}

// Error says what the server means, and what it said.
func (e *refusedError) Error() string { return e.hint + ": " + e.err.Error() }

// Unwrap returns the server's error.
func (e *refusedError) Unwrap() error { return e.err }

// Is reports whether target is [driver.ErrRefused].
func (e *refusedError) Is(target error) bool { return target == driver.ErrRefused }

// strayed is what a server says of a script that meets a helper key which has
// moved ahead of the keys that it was called with.
const strayed = "attempted to access a non local key"

// Explain names the errors of the server that are known to mean that nothing
// was done. All others leave that open.
func Explain(err error) error {
	answered, ok := errors.AsType[ServerError](err)
	if !ok {
		return err
	}
	if strings.Contains(string(answered), strayed) {
		return &refusedError{code: "TRYAGAIN", hint: "the slot is being moved", err: answered}
	}
	for _, hint := range hints {
		// Servers before 7 put the code of a failed call behind their own.
		if strings.HasPrefix(string(answered), hint.code) || strings.Contains(string(answered), "-"+hint.code+" ") {
			return &refusedError{code: hint.code, hint: hint.text, err: answered}
		}
	}
	if known := saying(answered); known != nil {
		return known
	}
	return err
}

// Code returns the server's code in an error, "" if it is not a known one.
func Code(err error) string {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.code
	}
	return ""
}

// Passes reports whether an error may be gone in a moment, without anybody
// doing anything: a failover, a restart, a moving slot.
func Passes(err error) bool {
	switch Code(err) {
	case "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS":
		return true
	}
	_, answered := errors.AsType[ServerError](err)
	return err != nil && !answered && !errors.Is(err, fencehold.ErrClosed) && !errors.Is(err, driver.ErrRefused)
}
