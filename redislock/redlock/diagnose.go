package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// Diagnose implements [driver.Diagnoser]: it examines every node, and then says what
// that means for the set.
func (b *backend) Diagnose(ctx context.Context) ([]driver.Finding, error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.work.Done()
	c := b.members.whole(ctx)
	nodes := make([]*examination, len(b.nodes))
	var examining sync.WaitGroup
	for i, n := range b.nodes {
		nodes[i] = &examination{b: b, node: n, standing: c[i], census: c}
		examining.Go(func() { nodes[i].run(ctx) })
	}
	examining.Wait()
	set := &examination{b: b, census: c}
	set.share("persistence", nodes)
	var findings []driver.Finding
	for i, e := range nodes {
		findings = append(findings, e.findings...)
		if e.fails() && c[i].err == nil {
			set.unfit = append(set.unfit, c[i])
		}
	}
	switch {
	case ctx.Err() != nil:
		return append(findings, set.findings...), ctx.Err()
	case len(c.answered()) < quorum.Majority(len(c)):
		return append(findings, set.findings...), unready(c, "")
	}
	set.clocks()
	set.promise(ctx)
	return append(findings, set.findings...), nil
}

// lookAgain is how long to wait for a node that is being connected to.
const lookAgain = 50 * time.Millisecond

// whole is the census of all nodes, which gives those that are still being connected to
// the time for it.
func (m *members) whole(ctx context.Context) census {
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	for {
		c := m.takeUntil(ctx, func(census) bool { return false })
		if !c.connecting() {
			return c
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return c
		}
	}
}

// examination is what is found out about one node, or about the set where that is
// nil.
type examination struct {
	b        *backend
	node     *node
	standing standing
	census   census
	unfit    census // the members that have failures, of the set
	findings []driver.Finding
}

// fails reports whether there is a failure among the findings.
func (e *examination) fails() bool {
	return slices.ContainsFunc(e.findings, func(f driver.Finding) bool { return f.Grade == driver.GradeFailure })
}

// found adds a finding.
func (e *examination) found(grade driver.Grade, subject, format string, args ...any) {
	f := driver.Finding{Subject: subject, Grade: grade, Text: fmt.Sprintf(format, args...)}
	if e.node != nil {
		f.Server = e.node.name
	}
	e.findings = append(e.findings, f)
}

// run examines a node: first as any Redis server, then as a member.
func (e *examination) run(ctx context.Context) {
	conn, err := e.node.conn()
	if err == nil {
		err = e.standing.err
	}
	if err != nil {
		e.found(driver.GradeWarning, "connection", "%v", (&nodeError{e.node.name, refusal.Explain(err)}).short())
		return
	}
	e.asServer(ctx, conn)
	e.persistence(ctx, conn)
	e.membership()
}

// lent is a Conn that the one who uses it does not close.
type lent struct{ redislock.Conn }

// Close implements [redislock.Conn].
func (lent) Close() error { return nil }

// asServer adds what package redislock finds about a single server, but for what is
// something else in a set.
func (e *examination) asServer(ctx context.Context, conn redislock.Conn) {
	opts := e.b.opts
	single, err := redislock.NewConn(lent{conn}, &redislock.Options{Prefix: opts.Prefix, NoPrefix: opts.NoPrefix})
	if err != nil {
		e.found(driver.GradeFailure, "server", "%v", err)
		return
	}
	defer single.Close()
	findings, err := single.(driver.Diagnoser).Diagnose(ctx)
	for _, f := range findings {
		switch {
		case slices.Contains([]string{"persistence", "clock", "promise"}, f.Subject):
		case f.Subject == "replicas" && strings.HasPrefix(f.Text, "0 "):
		case strings.Contains(f.Text, "follow no failover"):
			e.found(driver.GradeNote, f.Subject, "it has replicas: none of them may take its place")
		case f.Subject == "sentinels":
			e.found(f.Grade, f.Subject, "Sentinels watch this server: a failover would put a replica in its place that "+
				"does not have all of its locks")
		default:
			e.found(f.Grade, f.Subject, "%s", f.Text)
		}
	}
	if err != nil {
		e.found(driver.GradeWarning, "connection", "%v", err)
	}
}

// membership says whether the node votes.
func (e *examination) membership() {
	mine, marker := e.standing, e.marker()
	set, named := parseTitle(marker), len(e.b.nodes)
	switch t := parseTitle(mine.marker); {
	case mine.marker != "" && t.nodes != named:
		e.found(driver.GradeFailure, "member", "this client names %d servers, the set of this one has %d: correct the URL, "+
			"or see fencehold help redlock to change the size", named, t.nodes)
	case mine.marker != "":
		e.found(driver.GradeGood, "member", "of a set of %d servers, for TTLs of %v at most", t.nodes, t.maxTTL)
	case (marker == "" || set.nodes != named) && !mine.joining():
		e.found(driver.GradeNote, "member", "of no set yet")
	case !e.census.settled():
		e.found(driver.GradeWarning, "member", "it has lost its memory and does not vote, or is not a server or database of "+
			"this set")
	case mine.joining():
		left := coarse(max(set.maxTTL-mine.since(), 0))
		e.found(driver.GradeWarning, "member", "it has lost its memory and does not vote; joining for %v, it can "+
			"vote in %v (fencehold redlock repair makes that now)", coarse(mine.since()), left)
	default:
		e.found(driver.GradeWarning, "member", "it has lost its memory and does not vote, unless it is not a server or "+
			"database of this set; the next lock lets it join, which takes %v (fencehold redlock repair makes that now)",
			set.maxTTL)
	}
}

// marker is that of most members, empty if there are none.
func (e *examination) marker() string {
	marker, _ := e.census.common()
	return marker
}

// coarse rounds to what a person wants to know.
func coarse(d time.Duration) time.Duration {
	if d > time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Second / 10)
}
