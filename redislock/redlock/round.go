package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// A round is one request to all nodes at once. It is over once it is decided; what
// comes then is finished in the background.
type round struct {
	b     *backend
	limit time.Duration
	call  redislock.Call
	// args are those of one node, where they differ; nil if they do not.
	args func(n *node) []string
	// note is told of each answer before it counts, late of those that came after
	// the decision, and ended of the last; each may be nil.
	note  func(n *node, got reply)
	late  func(n *node, got reply)
	ended func()
	// decide is [quorum.Decide] unless it is set.
	decide func([]quorum.Vote) quorum.Outcome

	mu      sync.Mutex
	votes   []quorum.Vote // as of the decision
	replies []reply       // as of the decision
	open    int           // how many have not answered
	outcome quorum.Outcome
	done    chan struct{} // closed by the decision

	voteSpace  [inlineNodes]quorum.Vote
	replySpace [inlineNodes]reply
}

// inlineNodes is how many nodes a round has space for without another allocation.
const inlineNodes = 5

// reply is what one node answered.
type reply struct {
	answer
	err error // nothing else is known then
}

// errPending is the error of a node that has not answered an earlier request for the
// same holder: what that request does is not to be taken for what this one did.
var errPending = errors.New("has not answered an earlier request yet")

// newRound prepares a round.
func (b *backend) newRound(ttl time.Duration, call redislock.Call) *round {
	r := &round{b: b, limit: b.nodeTimeout(ttl), call: call, open: len(b.nodes), done: make(chan struct{})}
	r.votes, r.replies = r.voteSpace[:0], r.replySpace[:0]
	if len(b.nodes) > inlineNodes {
		r.votes, r.replies = make([]quorum.Vote, 0, len(b.nodes)), make([]reply, 0, len(b.nodes))
	}
	r.votes, r.replies = r.votes[:len(b.nodes)], r.replies[:len(b.nodes)]
	return r
}

// start asks all nodes but those that skip has a bit for.
func (r *round) start(skip uint64) {
	ctx := r.b.limits.context(r.limit)
	r.b.work.Add(len(r.b.nodes) - count(skip))
	for _, n := range r.b.nodes {
		if skip&n.bit() == 0 {
			go r.ask(ctx, n)
		}
	}
}

// leaveOut counts nodes as failed that are not asked.
func (r *round) leaveOut(skip uint64) {
	for _, n := range r.b.nodes {
		if skip&n.bit() != 0 {
			r.take(n, reply{err: errPending})
		}
	}
}

// startAt asks some nodes alone; the votes of all others are there.
func (r *round) startAt(nodes []*node) {
	ctx := r.b.limits.context(r.limit)
	r.b.work.Add(len(nodes))
	for _, n := range nodes {
		go r.ask(ctx, n)
	}
}

// askLate asks a node that start was told to leave out, on this goroutine.
func (r *round) askLate(n *node) {
	r.b.work.Add(1)
	r.ask(r.b.limits.context(r.limit), n)
}

// ask asks one node.
func (r *round) ask(ctx context.Context, n *node) {
	defer r.b.work.Done()
	call := r.call
	if r.args != nil {
		call.Args = r.args(n)
	}
	a, err := n.eval(ctx, call)
	r.take(n, reply{a, err})
}

// take takes the answer of one node.
func (r *round) take(n *node, got reply) {
	if got.code == codeAbstains {
		r.b.members.tend(n.seat)
	}
	if r.note != nil {
		r.note(n, got)
	}
	late, last := r.count(n, got)
	if late && r.late != nil {
		r.late(n, got)
	}
	if last && r.ended != nil {
		r.ended()
	}
}

// count adds an answer, and decides.
func (r *round) count(n *node, got reply) (late, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	if r.outcome != quorum.Open {
		return true, r.open == 0
	}
	r.replies[n.index], r.votes[n.index] = got, voteOf(got)
	if r.decide != nil {
		r.outcome = r.decide(r.votes)
	} else {
		r.outcome = quorum.Decide(r.votes)
	}
	if r.outcome != quorum.Open {
		close(r.done)
	}
	return false, r.open == 0
}

// voteOf is what an answer counts as.
func voteOf(got reply) quorum.Vote {
	if got.err != nil {
		return quorum.Vote{Kind: quorum.Failed}
	}
	switch got.code {
	case codeGranted:
		return quorum.Vote{Kind: quorum.Yes, Number: got.number, Left: got.left}
	case codeDone:
		return quorum.Vote{Kind: quorum.Yes}
	case codeAbstains:
		return quorum.Vote{Kind: quorum.Abstains}
	}
	return quorum.Vote{Kind: quorum.No}
}

// wait returns when the round is decided, or ctx ends, which is an error; votes and
// replies do not change any more then.
func (r *round) wait(ctx context.Context) (quorum.Outcome, error) {
	select {
	case <-r.done:
		return r.outcome, nil
	default:
	}
	select {
	case <-r.done:
		return r.outcome, nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcome == quorum.Open {
		r.outcome = quorum.Unknown
	}
	return r.outcome, ctx.Err()
}
