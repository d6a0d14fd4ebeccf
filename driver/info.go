package driver

import (
	"strings"
	"time"
)

// Info describes a lock service.
type Info struct {
	// Kind is the service's name in errors and logs, such as "redis".
	Kind string
	// URL opens the same service again, without the password. It is empty for a
	// client of the caller.
	URL string
	// Features are the promises that this service keeps.
	Features Features
	// MinTTL is the smallest TTL that the service takes.
	MinTTL time.Duration
	// MaxTTL is the largest TTL that the service takes, 0 for no limit of its own.
	MaxTTL time.Duration
}

// Features are promises that not every lock service can make.
type Features uint

const (
	// Fencing means: every grant has a token, larger than those of all earlier
	// grants of the name.
	Fencing Features = 1 << iota
	// Durable means: tokens go on rising across restarts, crashes and power cuts
	// of the service.
	Durable
	// FairQueue means: waiters are served in the order in which they came.
	FairQueue
	// MinHold means: a released lock can be kept taken for a while.
	MinHold
	// Detached means: a grant can outlive the process that asked for it.
	Detached
)

var featureNames = [...]string{"fencing", "durable", "fair queue", "min hold", "detached"}

// Has reports whether all of want are in f.
func (f Features) Has(want Features) bool { return f&want == want }

// String lists the names of the features.
func (f Features) String() string {
	var names []string
	for i, name := range featureNames {
		if f.Has(1 << i) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
