package record

import (
	"os"
	"sync/atomic"

	"github.com/fencehold/fencehold/driver"
)

// A Describer writes who asks for a lock.
type Describer struct {
	// Client is the random id of a client, Host the name of its machine.
	Client, Host string

	last atomic.Pointer[description]
}

type description struct{ owner, meta string }

// NewDescriber returns one for a client of this process.
func NewDescriber(client string) *Describer {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return &Describer{Client: client, Host: host}
}

// Describe returns the description of a request's owner. Most requests of a
// client have the same, so the last one is remembered.
func (d *Describer) Describe(req driver.Request) string {
	if last := d.last.Load(); last != nil && last.owner == req.Owner && len(req.Labels) == 0 {
		return last.meta
	}
	about := About{Client: d.Client, Owner: req.Owner, Host: d.Host, PID: os.Getpid(), Labels: req.Labels}
	meta := about.Meta()
	if len(req.Labels) == 0 {
		d.last.Store(&description{owner: req.Owner, meta: meta})
	}
	return meta
}
