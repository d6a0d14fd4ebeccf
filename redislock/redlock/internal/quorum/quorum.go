// Package quorum has the decisions of Redlock that need no network: what the
// answers of the nodes add up to. The backend and the simulation share it.
package quorum

import "slices"

// Majority is how many of n nodes decide.
func Majority(n int) int { return n/2 + 1 }

// Kind is what a node said to a request.
type Kind uint8

const (
	// None means that the node has not answered yet.
	None Kind = iota
	// Yes means that the node has the lock for the holder.
	Yes
	// No means that somebody else, or nobody any more, has it.
	No
	// Abstains means that the node does not vote: it has lost its memory.
	Abstains
	// Failed means that it is not known what the node did.
	Failed
)

// Vote is the answer of one node.
type Vote struct {
	Kind   Kind
	Number int64 // with Yes: the number that the node gave out
	Left   int64 // with Yes: how long the value lives there, in ms
}

// Outcome is what a round has come to.
type Outcome uint8

const (
	// Open means that the answers so far decide nothing.
	Open Outcome = iota
	// Won means that a majority said yes.
	Won
	// Lost means that so many said no that no majority can be reached.
	Lost
	// Unknown means that all have answered, or failed, without either.
	Unknown
)

// Decide says what a round has come to; votes has one entry per node.
func Decide(votes []Vote) Outcome {
	count := tally(votes)
	majority := Majority(len(votes))
	switch {
	case count[Yes] >= majority:
		return Won
	case len(votes)-count[No] < majority:
		return Lost
	case count[None]+count[Yes] < majority:
		// Even if all of the rest agree, it cannot be won; whether it is lost
		// may still turn out.
		if count[None] == 0 || len(votes)-count[No]-count[None] >= majority {
			return Unknown
		}
	}
	return Open
}

func tally(votes []Vote) (count [Failed + 1]int) {
	for _, v := range votes {
		count[v.Kind]++
	}
	return count
}

// Count returns how many votes are of a kind.
func Count(votes []Vote, kind Kind) int { return tally(votes)[kind] }

// Agreed returns the number that a majority gave out, and false if there is no
// such number.
func Agreed(votes []Vote) (int64, bool) {
	for _, v := range votes {
		if v.Kind == Yes && agreeing(votes, v.Number) >= Majority(len(votes)) {
			return v.Number, true
		}
	}
	return 0, false
}

func agreeing(votes []Vote, number int64) int {
	n := 0
	for _, v := range votes {
		if v.Kind == Yes && v.Number == number {
			n++
		}
	}
	return n
}

// Largest returns the largest number that was given out: what P2 settles on.
func Largest(votes []Vote) int64 {
	var largest int64
	for _, v := range votes {
		if v.Kind == Yes {
			largest = max(largest, v.Number)
		}
	}
	return largest
}

// Left returns how long a majority keeps the value at least, in ms: the
// quorum-th longest of the times. It is 0 without a majority.
func Left(votes []Vote) int64 {
	var left []int64
	for _, v := range votes {
		if v.Kind == Yes {
			left = append(left, v.Left)
		}
	}
	majority := Majority(len(votes))
	if len(left) < majority {
		return 0
	}
	slices.Sort(left)
	return left[len(left)-majority]
}
