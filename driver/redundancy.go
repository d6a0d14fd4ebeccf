package driver

// Redundant is a Backend whose service keeps each lock on several servers, of
// which a majority decides.
type Redundant interface {
	// Redundancy returns on how many servers the grant stands beyond those
	// that it takes; below 0, fewer have it than it takes. It is known once the
	// last request for the grant has heard from every server, or from some not
	// in time, and not known for a grant that is not this backend's. It does no
	// I/O, and is called by package fencehold under a mutex that Told.Redundancy
	// takes too: a mutex that it needs cannot be held while that is called.
	Redundancy(grant Grant) (spare int, known bool)
}

// Placed is a [Redundant] backend that can say where a grant is.
type Placed interface {
	// Without names the servers that do not have the grant, as far as Redundancy
	// knows, and says of how many servers these are some; 0 if that is not known.
	// What Redundancy must not do, it must not do either.
	Without(grant Grant) (servers []string, of int)
}
