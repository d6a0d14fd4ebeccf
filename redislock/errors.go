package redislock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

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
// case, with the code that explain gives them.
var sayings = []struct{ head, code, text string }{
	// The answer to a request too long for who has not logged in.
	{"protocol error: unauthenticated", "NOAUTH", wantsPassword},
	{"unknown command 'evalsha'", "NOSCRIPTS", "this is a Sentinel (use redis+sentinel://HOST/MASTER), or a service " +
		"without scripts"},
	{"unknown command 'sentinel'", "NOSENTINEL", "this is no Sentinel (use redis://)"},
	{"no such master with that name", "NOMASTER", "the Sentinel knows no master of the name in the URL"},
	{"this instance has cluster support disabled", "NOCLUSTER", "this server is no Cluster (use redis://)"},
	{"select is not allowed in cluster mode", "CLUSTER", "this is a Redis Cluster (use redis+cluster://)"},
	{"db index is out of range", outOfRange, "the server has no database of this number"},
}

// outOfRange is the code of a database that the server does not have.
const outOfRange = "NODATABASE"

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

// explain names the errors of the server that are known to mean that nothing
// was done. All others leave that open.
func explain(err error) error {
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

// code returns the server's code in an error, "" if it is not a known one.
func code(err error) string {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.code
	}
	return ""
}

// passes reports whether an error may be gone in a moment, without anybody
// doing anything: a failover, a restart, a moving slot.
func passes(err error) bool {
	switch code(err) {
	case "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS":
		return true
	}
	_, answered := errors.AsType[ServerError](err)
	return err != nil && !answered && !errors.Is(err, fencehold.ErrClosed) && !errors.Is(err, driver.ErrRefused)
}

// heldBy describes the holder that an answer shows.
func heldBy(a answer) *fencehold.HeldError {
	held := &fencehold.HeldError{Remaining: max(a.ttl, 0)}
	if a.code == codeWaiting {
		held.Position = a.place.rank + 1
	}
	v, ours := parseValue(a.value)
	switch {
	case a.kind != "s":
		held.Detail = "in another format: the key is a " + a.kind + ", as Redisson's and Symfony's locks are"
	case !ours && a.ttl < 0:
		held.Detail = "by a value without expiry that is not fencehold's"
	case !ours:
		held.Detail = "by another library"
	case v.about.kept:
		held.Detail = "kept taken after its release"
	default:
		held.Holder, held.Owner, held.Since = v.holder, v.about.owner, v.since()
	}
	return held
}

// lostTo says how a grant ended that an answer shows to be somebody else's, or
// nobody's.
func lostTo(a answer, grant driver.Grant) *fencehold.LostError {
	if a.word != "-" && a.word != "" {
		return parseWord(a.word)
	}
	v, ours := parseValue(a.value)
	switch {
	case ours && v.about.kept, a.value == "" && grant.Sent.Elapsed() >= grant.TTL:
		return &fencehold.LostError{Reason: fencehold.ReasonExpired}
	case a.value == "":
		return &fencehold.LostError{Reason: fencehold.ReasonDeleted}
	case ours:
		return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, By: v.about.owner}
	}
	return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, Why: "by another library"}
}

// wordOf writes who revoked a grant and why, without blanks.
func wordOf(r driver.Revocation) string {
	return url.Values{"by": {r.By}, "why": {r.Why}}.Encode()
}

func parseWord(word string) *fencehold.LostError {
	q, _ := url.ParseQuery(word) // what cannot be read is not told
	return &fencehold.LostError{Reason: fencehold.ReasonRevoked, By: q.Get("by"), Why: q.Get("why")}
}

// ended joins the end of a wait with what was known last.
func ended(ctx context.Context, last error) error {
	if last == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ctx.Err(), last)
}
