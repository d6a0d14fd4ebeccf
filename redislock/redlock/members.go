package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// foundWithin is how long after it was seen empty a node may be made a member of a
// new set: a founder that was paused must not mark a node that has voted since.
const foundWithin = 2 * time.Second

// How long a client waits for another one that is just founding the set, and how
// long it pauses first; the pauses double.
const (
	settleWithin = time.Second
	settlePause  = 5 * time.Millisecond
)

// firstAnswer is how long a node may take to be connected to, and to answer.
const firstAnswer = 5 * time.Second

// members knows which nodes may vote. A node that has lost its memory has no
// marker, and every script that takes a lock compares it.
type members struct {
	seats []*seat
	mine  title         // of this client
	keys  memberKeys    // the same on every node
	limit time.Duration // for one node's answer

	work   *sync.WaitGroup // of the backend
	anyTTL bool            // the client takes the longest TTL of the set

	known atomic.Pointer[string] // the marker of the set; nil until it is known
	place chan struct{}          // held by who asks for it
}

// newMembers returns the membership of a client; all else is for the caller to set.
func newMembers(seats []*seat, mine title, keys memberKeys, limit time.Duration) *members {
	return &members{
		seats: seats, mine: mine, keys: keys, limit: limit, place: make(chan struct{}, 1),
		work: &sync.WaitGroup{},
	}
}

// seat is one node as membership sees it.
type seat struct {
	index int
	name  string // its address
	conn  func(ctx context.Context) (redislock.Conn, error)

	tending atomic.Bool  // somebody looks after it
	next    atomic.Int64 // when it is looked after next, in Unix ns
}

// errSilent is the error of a node that has not answered in time.
var errSilent = errors.New("no answer in time")

// run runs a script at one node.
func (m *members) run(
	ctx context.Context, s *seat, script *redislock.Script, keys []string, args ...string,
) (string, error) {
	conn, err := s.conn(ctx)
	if err != nil {
		return "", ofLimit(err)
	}
	answer, err := conn.Eval(ctx, redislock.Call{Script: script, Keys: keys, Args: args})
	return answer, ofLimit(err)
}

// ofLimit names the end of a limit of ours.
func ofLimit(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errSilent
	}
	return err
}

// marker returns the marker that the nodes of this set have. The first call asks
// them, and founds the set if it is new.
func (m *members) marker(ctx context.Context) (string, error) {
	if known := m.known.Load(); known != nil {
		return *known, nil
	}
	select {
	case m.place <- struct{}{}:
		defer func() { <-m.place }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if known := m.known.Load(); known != nil {
		return *known, nil
	}
	marker, err := m.settle(ctx)
	if err != nil {
		return "", err
	}
	m.known.Store(&marker)
	return marker, nil
}

// settle asks until the nodes agree on a marker, or it is clear that they will not.
func (m *members) settle(ctx context.Context) (string, error) { return m.repeat(ctx, m.judge) }

// stands says why the nodes cannot tell who holds a lock: they are not the set, or too
// few of them have their memory. It founds nothing.
func (m *members) stands(ctx context.Context) error {
	_, err := m.repeat(ctx, func(ctx context.Context, c census) (string, error) {
		err := m.verdict(c, title{nodes: m.mine.nodes})
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", err
	})
	return err
}

// repeat judges what the nodes say, again if that may change in a moment.
func (m *members) repeat(ctx context.Context, judge func(context.Context, census) (string, error)) (string, error) {
	for start, pause := time.Now(), settlePause; ; pause *= 2 {
		marker, err := judge(ctx, m.first(ctx))
		if err == nil || !passes(err) || time.Since(start)+pause > settleWithin {
			return marker, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// first is the census of a client that may have to connect before it can ask. A
// node that does not answer holds it up only if the others do not decide.
func (m *members) first(ctx context.Context) census {
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	return m.takeUntil(ctx, census.settled)
}

// judge draws the conclusion from a census.
func (m *members) judge(ctx context.Context, c census) (string, error) {
	if !c.settled() && ctx.Err() != nil {
		return "", ctx.Err()
	}
	marker, _ := c.common()
	err := m.verdict(c, m.claim())
	switch {
	case err != nil || c.settled():
		return marker, err
	case c.founding():
		return m.found(ctx, c)
	}
	return "", m.unify(ctx, c)
}

// verdict says why there are no locks as the nodes stand, for a client with that claim.
// It is nil where there are, and where the next client has only to found the set, or to
// give its members the same limit of TTLs.
func (m *members) verdict(c census, claim title) error {
	marker, _ := c.common()
	answered := c.answered()
	switch {
	case c.settled():
		return parseTitle(marker).admits(claim)
	case len(answered) < quorum.Majority(len(c)):
		return unready(c, "")
	}
	if err := m.strange(answered); err != nil {
		return err
	}
	switch unmarked := len(c.having("")); {
	case len(answered) < len(c) || slices.ContainsFunc(c, standing.joining):
		return unready(c, "")
	case unmarked == 0 || unmarked == len(c):
		return nil
	}
	return unsettled(c, "")
}

// claim is what the client wants of the set.
func (m *members) claim() title {
	if m.anyTTL {
		return title{nodes: m.mine.nodes}
	}
	return m.mine
}

func (s standing) joining() bool { return s.joined != 0 }

// strange refuses a client whose nodes belong to a set of another size.
func (m *members) strange(c census) error {
	for _, s := range c {
		if t := parseTitle(s.marker); s.marker != "" && t.nodes != m.mine.nodes {
			return fmt.Errorf("%w (%s)", t.admits(m.claim()), s.seat.name)
		}
	}
	return nil
}

// found marks all nodes, each only soon after it was seen empty. Those that cannot
// be marked now are let in later, as nodes that have lost their memory.
func (m *members) found(ctx context.Context, c census) (string, error) {
	marker := m.mine.String()
	marked := 0
	for _, answer := range m.each(ctx, c, func(ctx context.Context, s standing) (string, error) {
		return m.run(ctx, s.seat, foundScript, []string{m.keys.marker, m.keys.joined},
			marker, fmt.Sprint(s.now), fmt.Sprint(foundWithin.Microseconds()))
	}) {
		if answer == "F" || answer == "M "+marker {
			marked++
		}
	}
	if marked < quorum.Majority(len(c)) {
		return "", unsettled(c, "founding the set has failed: ")
	}
	return marker, nil
}

// unify gives all nodes the marker with the longest TTL: they are members all, and
// founders at the same moment had different limits. The next census sees it.
func (m *members) unify(ctx context.Context, c census) error {
	longest := slices.MaxFunc(c, func(a, b standing) int {
		return int(parseTitle(a.marker).maxTTL - parseTitle(b.marker).maxTTL)
	}).marker
	m.each(ctx, c, func(ctx context.Context, s standing) (string, error) {
		return m.retitle(ctx, s, longest)
	})
	return unsettled(c, "two clients with different max_ttl have founded the set at the same moment: ")
}

func (m *members) retitle(ctx context.Context, s standing, marker string) (string, error) {
	return m.run(ctx, s.seat, retitleScript, []string{m.keys.marker}, s.marker, marker)
}

// each does something at some nodes at once, and returns what they answered; empty
// where that failed.
func (m *members) each(ctx context.Context, c census, do func(context.Context, standing) (string, error)) []string {
	ctx, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	answers := make([]string, len(c))
	var asking sync.WaitGroup
	for i, s := range c {
		asking.Go(func() {
			if answer, err := do(ctx, s); err == nil {
				answers[i] = answer
			}
		})
	}
	asking.Wait()
	return answers
}

// unsettled is unready where it may be gone in a moment, since another client may be
// founding the set.
func unsettled(c census, why string) error {
	e := unready(c, why)
	e.passing = true
	return e
}

// passes reports whether an error may be gone in a moment.
func passes(err error) bool {
	e, ok := errors.AsType[*unreadyError](err)
	return ok && e.passing
}

// unreadyError says why the set cannot be used: nothing was asked of it.
type unreadyError struct {
	text    string
	causes  []error
	of      int  // how many nodes the set has
	passing bool // it may be gone in a moment
}

// connecting reports whether a node is still being connected to for the first time.
func (c census) connecting() bool {
	return slices.ContainsFunc(c, func(s standing) bool { return errors.Is(s.err, errConnecting) })
}

// unready says how the nodes stand, and what helps.
func unready(c census, why string) *unreadyError {
	return &unreadyError{text: why + c.shortage(), causes: c.failures(), of: len(c), passing: c.connecting()}
}

// shortage says in words why there is no majority.
func (c census) shortage() string {
	answered, majority := len(c.answered()), quorum.Majority(len(c))
	switch _, members := c.common(); {
	case answered < majority:
		do := verb(answered, "answers", "answer")
		return fmt.Sprintf("%d of %d servers %s, and it takes %d", answered, len(c), do, majority)
	case c.blank():
		return fmt.Sprintf("no server that answers belongs to a set, and to found one takes all %d: if these had one and "+
			"have lost their memory, \"fencehold redlock repair --force\" founds it again", len(c))
	default:
		advice := "if"
		if members+len(c)-answered >= majority {
			advice = "the others have to answer; or if"
		}
		return fmt.Sprintf("%d of %d servers %s the set, and it takes %d: %s %s lost the memory of it (or %s not of this "+
			"set: are host, database and prefix right?); %s nobody works under its locks, \"fencehold redlock repair "+
			"--force\" founds it again", members, len(c), verb(members, "knows", "know"), majority, c.having("").names(),
			verb(answered-members, "has", "have"), verb(answered-members, "is", "are"), advice)
	}
}

// verb is what n of something do, or are.
func verb(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// names lists the nodes.
func (c census) names() string {
	names := make([]string, len(c))
	for i, s := range c {
		names[i] = s.seat.name
	}
	return strings.Join(names, ", ")
}

// Error names the nodes that failed.
func (e *unreadyError) Error() string {
	var text strings.Builder
	text.WriteString(e.text)
	for _, cause := range e.causes {
		text.WriteString("; " + cause.Error())
	}
	return text.String()
}

// As finds why servers refused the client, if there is no majority without them.
func (e *unreadyError) As(target any) bool { return refusedAll(e.causes, e.of, target) }

// Is tells that the service is not available, and that nothing has to be undone.
func (e *unreadyError) Is(target error) bool {
	return target == fencehold.ErrUnavailable || target == driver.ErrRefused
}
