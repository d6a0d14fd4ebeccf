package record

import (
	"net/url"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
)

// WordOf writes who revoked a grant and why, without blanks.
func WordOf(r driver.Revocation) string {
	return url.Values{"by": {r.By}, "why": {r.Why}}.Encode()
}

// ParseWord reads what [WordOf] wrote; what cannot be read is not told.
func ParseWord(word string) *fencehold.LostError {
	q, _ := url.ParseQuery(word)
	return &fencehold.LostError{Reason: fencehold.ReasonRevoked, By: q.Get("by"), Why: q.Get("why")}
}
