// Package view shows locks: as JSON, which is a documented contract, and as
// tables for people.
package view

import (
	"time"

	"github.com/fencehold/fencehold"
)

// SchemaVersion changes when a key of the JSON changes its meaning or goes.
const SchemaVersion = 1

// Lock is a lock as JSON. Tokens are strings, since JavaScript would round
// large ones; what is not known is null.
type Lock struct {
	Schema  int               `json:"schema_version"`
	Name    string            `json:"name"`
	Held    bool              `json:"held"`
	Kept    bool              `json:"kept"`
	Holder  *string           `json:"holder"`
	Token   *string           `json:"token"`
	Owner   *string           `json:"owner"`
	Labels  map[string]string `json:"labels"`
	Host    *string           `json:"host"`
	PID     *int              `json:"pid"`
	Since   *string           `json:"since"`
	TTL     *int64            `json:"ttl_ms"`
	Foreign bool              `json:"foreign"`
	Key     string            `json:"key"`
	Waiting *int              `json:"waiting"`
	Waiters []Waiter          `json:"waiters"`
}

// Waiter is one who waits for a lock, as JSON.
type Waiter struct {
	Owner *string `json:"owner"`
	Host  *string `json:"host"`
	PID   *int    `json:"pid"`
	Since *string `json:"since"`
}

// NewLock converts what the lock service tells.
func NewLock(h fencehold.Holding) Lock {
	l := Lock{
		Schema: SchemaVersion, Name: h.Name, Held: h.Held, Kept: h.Kept, Holder: known(h.Holder), Owner: known(h.Owner),
		Labels: h.Labels, Host: known(h.Host), PID: known(h.PID), Since: Timestamp(h.Since),
		TTL: known(h.TTL.Milliseconds()), Foreign: h.Foreign, Key: h.Key, Waiters: []Waiter{},
	}
	if h.Token != 0 {
		l.Token = new(h.Token.String())
	}
	if l.Labels == nil {
		l.Labels = map[string]string{}
	}
	if h.Waiting >= 0 {
		l.Waiting = new(h.Waiting)
	}
	for _, w := range h.Waiters {
		l.Waiters = append(l.Waiters, Waiter{known(w.Owner), known(w.Host), known(w.PID), Timestamp(w.Since)})
	}
	return l
}

// known returns nil for a zero value, which stands for what is not known.
func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Timestamp is t as RFC 3339, nil if it is not known.
func Timestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.Format(time.RFC3339Nano))
}
