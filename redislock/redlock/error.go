package redlock

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// nodesError says why there is no majority, node by node. What was done is not
// known, unless every node refused.
type nodesError struct {
	of, agreed int
	said       []error
	refused    int    // how many nodes have done nothing for certain
	verb       string // what the nodes did that count; empty: agreed
}

// add takes in what one node said.
func (e *nodesError) add(n *node, err error) {
	e.said = append(e.said, saidBy(n.name, err))
	if errors.Is(err, driver.ErrRefused) {
		e.refused++
	}
}

// Error names the nodes.
func (e *nodesError) Error() string {
	var text strings.Builder
	did := cmp.Or(e.verb, "agreed")
	fmt.Fprintf(&text, "%d of %d servers %s, and it takes %d", e.agreed, e.of, did, quorum.Majority(e.of))
	for _, said := range e.said {
		text.WriteString("; " + said.Error())
	}
	return text.String()
}

// Is reports whether target is [driver.ErrRefused], which it is if all nodes
// refused.
func (e *nodesError) Is(target error) bool {
	return target == driver.ErrRefused && e.refused == e.of
}

// As finds why servers refused the client, if there is no majority without them.
func (e *nodesError) As(target any) bool { return refusedAll(e.said, e.of, target) }

// errAbstains is what a node says that does not vote.
var errAbstains = errors.New("does not vote, because it has lost its memory (or is not a server or database of this " +
	"set): it will once the longest TTL has passed, or after \"fencehold redlock repair\"")

// errUndecided is what a node is said to have answered that others came before.
var errUndecided = errors.New("had not answered when there could be no majority any more")

// undecided says why a round has no majority.
func (b *backend) undecided(r *round) error {
	e := &nodesError{of: len(b.nodes)}
	for i, v := range r.votes {
		switch v.Kind {
		case quorum.Yes:
			e.agreed++
		case quorum.No:
			e.add(b.nodes[i], r.replies[i].holding())
		case quorum.Abstains:
			e.add(b.nodes[i], errAbstains)
		case quorum.Failed:
			e.add(b.nodes[i], r.replies[i].err)
		case quorum.None:
			e.add(b.nodes[i], errUndecided)
		}
	}
	return e
}

// errUnsettled is the error of an attempt that a majority agreed to, without a token.
var errUnsettled = errors.New("no majority gives the same token")

// unsettled says why an attempt that a majority agreed to has no token.
func (b *backend) unsettled(r *round) error {
	for i, v := range r.votes {
		if v.Kind == quorum.Failed && r.replies[i].err == nil {
			r.replies[i].err = errSilent
		}
	}
	return fmt.Errorf("%w: %w", errUnsettled, b.undecided(r))
}

// shown is what a majority of nodes, or most of them, show of a lock.
type shown struct {
	answer
	count  int
	holder string
}

// mostShown returns the value that most of the nodes show that do not have the lock
// for the caller.
func mostShown(replies []reply) (most shown) {
	for i, got := range replies {
		if got.err != nil || !got.shows() {
			continue
		}
		s := shown{answer: got.answer, holder: holderOf(got.value)}
		for _, other := range replies[i:] {
			if other.err == nil && other.shows() && holderOf(other.value) == s.holder {
				s.count++
				s.left = max(s.left, other.left)
			}
		}
		if s.count > most.count {
			most = s
		}
	}
	return most
}

// shows reports whether an answer shows somebody else's value.
func (a answer) shows() bool {
	return a.code == codeBusy || a.code == codeWaiting || a.code == codeNotMine && a.value != ""
}

// heldBy describes the holder that most nodes show.
func heldBy(replies []reply) *fencehold.HeldError {
	most := mostShown(replies)
	held := &fencehold.HeldError{Remaining: time.Duration(max(most.left, 0)) * time.Millisecond}
	if most.code == codeWaiting {
		held.Position = most.rank + 1
	}
	v, ours := record.Parse(most.value)
	switch {
	case most.count == 0:
	case most.kind != "s":
		held.Detail = "in another format: the key is a " + most.kind
	case !ours && most.left < 0:
		held.Detail = "by a value without expiry that is not fencehold's"
	case !ours:
		held.Detail = "by another library"
	case v.About.Kept:
		held.Detail = "kept taken until a server that has lost its memory can know better"
	default:
		held.Holder, held.Owner, held.Since = v.Holder, v.About.Owner, v.Since()
	}
	return held
}

// lostTo says how a grant ended that a majority does not have any more.
func lostTo(replies []reply, grant driver.Grant) *fencehold.LostError {
	for _, got := range replies {
		if got.err == nil && got.code == codeNotMine && got.word != "-" {
			return record.ParseWord(got.word)
		}
	}
	most := mostShown(replies)
	v, ours := record.Parse(most.value)
	switch {
	case most.count == 0 && grant.Sent.Elapsed() >= grant.TTL:
		return &fencehold.LostError{Reason: fencehold.ReasonExpired}
	case most.count == 0:
		return &fencehold.LostError{Reason: fencehold.ReasonDeleted}
	case ours:
		return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, By: v.About.Owner}
	}
	return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, Why: "by another library"}
}
