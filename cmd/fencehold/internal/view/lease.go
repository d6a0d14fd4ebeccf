package view

import (
	"fmt"
	"io"
	"time"

	"github.com/fencehold/fencehold"
)

// leaseView is a lease as JSON.
type leaseView struct {
	Schema  int     `json:"schema_version"`
	Name    string  `json:"name"`
	Token   *string `json:"token"`
	Holder  string  `json:"holder"`
	Fence   string  `json:"fence"`
	TTL     int64   `json:"ttl_ms"`
	Expires *string `json:"expires_at"`
}

// newLeaseView converts a lease.
func newLeaseView(l *fencehold.Lease) leaseView {
	v := leaseView{
		Schema: SchemaVersion, Name: l.Name(), Holder: l.Fence().Holder, Fence: l.Fence().String(),
		TTL: l.TTL().Milliseconds(), Expires: Timestamp(l.Expires()),
	}
	if l.Token() != 0 {
		v.Token = new(l.Token().String())
	}
	return v
}

// PrintLease writes the lease as the format says: name is the holder's id
// alone, which renew and release want.
// The end that it shows is the safe one by the clock of this machine, a little before
// that of the lock service.
func PrintLease(out io.Writer, f Format, l *fencehold.Lease) error {
	switch f {
	case Lines:
		return WriteLine(out, newLeaseView(l))
	case Names:
		_, err := fmt.Fprintln(out, l.Fence().Holder)
		return err
	case Table, Wide:
		left := time.Until(l.Expires()).Round(time.Millisecond)
		_, err := fmt.Fprintf(out, "%s   token %s   holder %s   %s left\n", Quote(l.Name()), l.Token(),
			l.Fence().Holder, left)
		return err
	}
	return WriteJSON(out, newLeaseView(l))
}
