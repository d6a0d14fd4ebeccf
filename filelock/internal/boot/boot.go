// Package boot tells time from the start of the machine to the next one: the
// time of grants that outlive their process. Nobody can set this clock, it goes
// on while the machine sleeps, and all processes see the same.
package boot

import "time"

// An ID is what the machine has from one start to the next.
type ID string

// A Moment is a point of time between two starts of the machine.
type Moment struct {
	Boot ID            `json:"boot"`
	Nano time.Duration `json:"ns"`
}

// Read returns the id of the boot that the machine is in.
func Read() (ID, error) {
	id, err := readID()
	return ID(id), err
}

// In returns the moment in d from now.
func (id ID) In(d time.Duration) *Moment { return &Moment{Boot: id, Nano: sinceBoot() + d} }

// Until is how long it is until m: 0 if that is past or nil, or of another
// boot, since the clock has begun anew.
func (id ID) Until(m *Moment) time.Duration {
	if m == nil || m.Boot != id {
		return 0
	}
	return max(m.Nano-sinceBoot(), 0)
}
