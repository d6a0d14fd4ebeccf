// Package fence holds the value that protects data from a holder that is too
// late: a [Fence] travels with each write, and the place where the write
// lands refuses it once a newer one has been seen there.
//
// The rule goes back to Chubby's sequencers (Burrows, 2006) and Kleppmann's
// "How to do distributed locking" (2016), with one addition: an equal token
// passes only for the same holder. Then the writes accepted under one token
// are those of one holder, whatever the lock service, the network and the
// clocks do.
package fence

import (
	"context"
	"errors"
	"strconv"
)

// MaxToken is the largest token: the largest integer that the numbers of
// JSON, JavaScript and Lua hold exactly.
const MaxToken Token = 1<<53 - 1

// ErrStale is what a guard returns for a fence that it must refuse: an older
// one than it has seen, or one as old of another holder.
var ErrStale = errors.New("fencing token is stale")

// A Token orders the grants of one lock: the newer the grant, the larger the
// token. It lies between 1 and [MaxToken]; 0 means that there is none.
type Token int64

// String returns the token in decimal.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

// Valid reports whether t lies between 1 and [MaxToken].
func (t Token) Valid() bool { return 0 < t && t <= MaxToken }

// A Fence says under which grant a write is made.
type Fence struct {
	// Name is the name of the lock.
	Name string
	// Token is the place of the grant among all grants of Name.
	Token Token
	// Holder is the random id of the grant.
	Holder string
}

// Supersedes reports whether a guard that has accepted f must refuse a write
// under old: its token is smaller, or equal but of another holder.
func (f Fence) Supersedes(old Fence) bool {
	return old.Token < f.Token || (old.Token == f.Token && old.Holder != f.Holder)
}

type contextKey struct{}

// NewContext returns a copy of ctx that carries f.
func NewContext(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, contextKey{}, f)
}

// From returns the fence that ctx carries, if any: that of the innermost
// lease whose context ctx descends from.
func From(ctx context.Context) (Fence, bool) {
	f, ok := ctx.Value(contextKey{}).(Fence)
	return f, ok
}
