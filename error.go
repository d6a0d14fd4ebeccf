package fencehold

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/fence"
)

var (
	// ErrHeld is returned by TryAcquire, and by Acquire when its wait limit
	// is over: somebody else has the lock. A [*HeldError] says who.
	ErrHeld = errors.New("held by another owner")

	// ErrLost is the end of a lease that was not released: the cause of its
	// context, the result of [Lease.Err], and of the first Extend and Release
	// after it. A [*LostError] says how.
	ErrLost = errors.New("lease lost")

	// ErrReleased is the end of a lease that was released: the cause of its
	// context and the result of [Lease.Err] and [Lease.Extend].
	ErrReleased = errors.New("lease released")

	// ErrStale is returned by fencing guards for a fence older than one they
	// have seen, or as old and of another holder.
	ErrStale = fence.ErrStale

	// ErrUnavailable is returned when the lock service failed, did not answer
	// or answered too late, also for a release whose outcome is unknown. The
	// service's own error is wrapped with it.
	ErrUnavailable = errors.New("lock service unavailable")

	// ErrInvalid is returned for a name, a duration or an option that breaks
	// a rule, before anything is sent.
	ErrInvalid = errors.New("invalid argument")

	// ErrClosed is returned by a client that was closed.
	ErrClosed = errors.New("client closed")
)

// Error adds the operation, the lock and the kind of service to what went
// wrong. Every error of a [Client], [Mutex] or [Lease] is one. Ask for the
// cause with [errors.Is] and [errors.As]: the errors above,
// [errors.ErrUnsupported], the context's error, or the service's own.
type Error struct {
	// Op is what was tried, such as "acquire".
	Op string
	// Name is the lock's name, empty where none is concerned.
	Name string
	// Backend is the kind of service, such as "redis".
	Backend string
	// Err is what went wrong.
	Err error
}

// Error reads "acquire invoices/42 (redis): held by another owner".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Name != "" {
		b.WriteString(" " + quoteName(e.Name))
	}
	if e.Backend != "" {
		b.WriteString(" (" + e.Backend + ")")
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// HeldError is an [ErrHeld] with what is known of the holder. Every field may
// be unknown, and then is zero.
type HeldError struct {
	// Holder is the random id of the grant that stands.
	Holder string
	// Owner is what the holder calls itself.
	Owner string
	// Since is when the holder was granted the lock, by the service's clock.
	Since time.Time
	// Remaining is how long the grant lives unless it is renewed.
	Remaining time.Duration
	// Position is the caller's place in line, 1 for the next one.
	Position int
	// Detail says what is unusual about the holder, such as that the key holds
	// something that is not a lock of this library.
	Detail string
}

// Error says who holds the lock, since when, and for how long at least.
func (e *HeldError) Error() string {
	var b strings.Builder
	b.WriteString(ErrHeld.Error())
	if e.Owner != "" {
		b.WriteString(": " + quoteName(e.Owner))
	}
	if !e.Since.IsZero() {
		b.WriteString(", since " + e.Since.Format(time.RFC3339))
	}
	if e.Remaining > 0 {
		b.WriteString(", " + e.Remaining.Round(time.Millisecond).String() + " left unless renewed")
	}
	if e.Detail != "" {
		b.WriteString(", " + e.Detail)
	}
	if e.Position > 0 {
		fmt.Fprintf(&b, ", place %d in line", e.Position)
	}
	return b.String()
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// A Reason says how a lease was lost. The set is the same on all backends.
type Reason string

const (
	// ReasonExpired says that the lease ran out, because it was not renewed in time or
	// not at all.
	ReasonExpired Reason = "expired"
	// ReasonDeleted says that the lock was removed by somebody who left no word.
	ReasonDeleted Reason = "deleted"
	// ReasonTakenOver says that somebody else holds the lock.
	ReasonTakenOver Reason = "taken over"
	// ReasonRevoked says that somebody took the lock away with [Client.Unlock].
	ReasonRevoked Reason = "revoked"
	// ReasonUnreachable says that no renewal came through before the lease ran out.
	ReasonUnreachable Reason = "backend unreachable"
	// ReasonMaxHold says that the limit of [WithMaxHold] was reached.
	ReasonMaxHold Reason = "max hold"
	// ReasonClosed says that the client was closed under the lease.
	ReasonClosed Reason = "client closed"
)

// LostError is an [ErrLost] with what is known of how the lease was lost.
type LostError struct {
	// Reason is how.
	Reason Reason
	// By is who did it, if anybody did and is known.
	By string
	// Why is what they said, or a detail of the reason.
	Why string
	// Err is the last error of the service, if one led to the loss.
	Err error
}

// Error says how the lease was lost, by whom and why.
func (e *LostError) Error() string {
	var b strings.Builder
	b.WriteString(ErrLost.Error())
	if e.Reason != "" {
		b.WriteString(": " + string(e.Reason))
	}
	if e.By != "" {
		b.WriteString(" by " + quoteName(e.By))
	}
	if e.Why != "" {
		b.WriteString(" (" + e.Why + ")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Is reports whether target is [ErrLost].
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns e.Err.
func (e *LostError) Unwrap() error { return e.Err }

// quoteName returns s as it is if it reads well in a message, else quoted.
func quoteName(s string) string {
	if q := strconv.Quote(s); len(q) != len(s)+2 || strings.ContainsAny(s, " ") {
		return q
	}
	return s
}

// invalid returns an [ErrInvalid] that names the input and the rule.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// unsupported returns an [errors.ErrUnsupported] that names what is missing.
func unsupported(what string) error {
	return fmt.Errorf("%s: %w", what, errors.ErrUnsupported)
}
