package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencehold/fencehold/driver"
)

// errUnconfirmed says that a write was made, and that too few replicas have it.
var errUnconfirmed = errors.New("not confirmed")

// confirmed runs a script whose grant or renewal replicas have to confirm, if
// that is wanted. WAIT is no consensus: it makes the loss of a grant in a
// failover less likely.
func (b *backend) confirmed(ctx context.Context, call Call) (answer, error) {
	want, limit := b.opts.MinReplicas, b.opts.ReplicaTimeout
	if want == 0 {
		return b.eval(ctx, call)
	}
	text, got, err := b.conn.EvalWait(ctx, call, want, limit)
	a, err := answered(ctx, text, err)
	if err == nil && a.code == codeGranted && got < want {
		return a, fmt.Errorf("%w: by %d of %d replicas within %v", errUnconfirmed, got, want, limit)
	}
	return a, err
}

// grant runs a script that may grant. A grant that is not confirmed is undone.
func (b *backend) grant(ctx context.Context, name, holder string, call Call) (answer, error) {
	a, err := b.confirmed(ctx, call)
	if !errors.Is(err, errUnconfirmed) {
		return a, err
	}
	if _, undone := b.release(ctx, name, holder, "", 0); undone != nil {
		return a, err // package fencehold goes on trying
	}
	return a, undoneError{err}
}

// undoneError is the end of a grant that was undone: nothing is left of it.
type undoneError struct{ error }

// Unwrap returns what it was undone for.
func (e undoneError) Unwrap() error { return e.error }

// Is reports whether target is [driver.ErrRefused].
func (e undoneError) Is(target error) bool { return target == driver.ErrRefused }
