package model

// A Config says what may happen.
type Config struct {
	Nodes     int  // odd, 3 or 5
	Clients   int  // up to 3
	Rounds    int  // that an attempt may have under one holder, 1 or 2
	Proposals int  // p is from 0 to this
	Counters  int  // at first, each node's h is from 0 to this, in all combinations
	HandOvers int  // so many releases hand the lock to a client that has begun
	States    int  // the search ends after so many; 0: no limit
	Twice     bool // each request may be executed twice
	Renewals  bool // holders renew and mend
	Forget    Forgetting
	More      int // so often does a node forget after the first time
	Unsafe    Variant
}

// Forgetting says how a node may lose its memory.
type Forgetting uint8

const (
	// Never means that nodes remember.
	Never Forgetting = iota
	// Votes means that a node forgets at any moment and votes on.
	Votes
	// Joins means that it does not vote until every attempt that was under way
	// has ended, and then with the largest h of N/2 + 1 others that vote. Of
	// N nodes, N/2 forget at a time.
	Joins
	// Spare means that it votes on, but forgets only while no attempt is under
	// way, and what a majority of the others have shown of each granted token.
	Spare
)

// A Variant is the protocol with one rule left out, or several.
type Variant uint16

// The rules that can be left out.
const (
	OnePhase      Variant = 1 << iota // the token is the largest answer, without P2
	NoOwner                           // P2 does not compare the holder
	NoCompare                         // P2 does not compare h
	MinorityTells                     // one node too few is enough for a number
	MendSilent                        // a mend does not raise h
	RenewSilent                       // a renewal does not raise h
	JoinsEarly                        // a node joins during attempts that it took part in
	JoinsEmpty                        // a node joins with the h that it has
	JoinsByAny                        // a node that does not vote itself is asked for its h, too
)

// without reports whether one of the rules is left out.
func (c *Config) without(v Variant) bool { return c.Unsafe&v != 0 }

// majority is how many nodes decide.
func (c *Config) majority() int { return c.Nodes/2 + 1 }

// enough is how many nodes fix a token.
func (c *Config) enough() int {
	if c.without(MinorityTells) {
		return c.majority() - 1
	}
	return c.majority()
}
