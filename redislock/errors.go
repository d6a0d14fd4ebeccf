package redislock

import (
	"context"
	"fmt"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// What is known of the errors of a server.
var (
	explain = refusal.Explain
	code    = refusal.Code
	passes  = refusal.Passes
)

// heldBy describes the holder that an answer shows.
func heldBy(a answer) *fencehold.HeldError {
	held := &fencehold.HeldError{Remaining: max(a.ttl, 0)}
	if a.code == codeWaiting {
		held.Position = a.place.rank + 1
	}
	v, ours := record.Parse(a.value)
	switch {
	case a.kind != "s":
		held.Detail = "in another format: the key is a " + a.kind + ", as Redisson's and Symfony's locks are"
	case !ours && a.ttl < 0:
		held.Detail = "by a value without expiry that is not fencehold's"
	case !ours:
		held.Detail = "by another library"
	case v.About.Kept:
		held.Detail = "kept taken after its release"
	default:
		held.Holder, held.Owner, held.Since = v.Holder, v.About.Owner, v.Since()
	}
	return held
}

// lostTo says how a grant ended that an answer shows to be somebody else's, or
// nobody's.
func lostTo(a answer, grant driver.Grant) *fencehold.LostError {
	if a.word != "-" && a.word != "" {
		return record.ParseWord(a.word)
	}
	v, ours := record.Parse(a.value)
	switch {
	case ours && v.About.Kept, a.value == "" && grant.Sent.Elapsed() >= grant.TTL:
		return &fencehold.LostError{Reason: fencehold.ReasonExpired}
	case a.value == "":
		return &fencehold.LostError{Reason: fencehold.ReasonDeleted}
	case ours:
		return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, By: v.About.Owner}
	}
	return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, Why: "by another library"}
}

// ended joins the end of a wait with what was known last.
func ended(ctx context.Context, last error) error {
	if last == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ctx.Err(), last)
}
