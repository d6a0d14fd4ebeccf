package redislock

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fencehold/fencehold/driver"
)

// Diagnose implements [driver.Diagnoser]: it examines every primary, and then
// says what that means for the locks.
func (b *backend) Diagnose(ctx context.Context) ([]driver.Finding, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	var all []*examination
	err := b.conn.Primaries(ctx, func(addr string, do Do) error {
		e := newExamination(b, addr, do)
		all = append(all, e)
		return e.run(ctx)
	})
	// A client lists the nodes of a Cluster in no particular order.
	slices.SortFunc(all, func(a, b *examination) int { return cmp.Compare(a.server, b.server) })
	if len(all) == 0 && err == nil {
		all, err = b.others(ctx)
	}
	var findings []driver.Finding
	for _, e := range all {
		findings = append(findings, e.findings...)
	}
	if err != nil {
		return findings, explain(ofContext(ctx, err))
	}
	return append(findings, b.summary(all)...), nil
}

// examination is what is found out about one primary.
type examination struct {
	b        *backend
	server   string
	do       Do
	findings []driver.Finding

	info   map[string]string // of INFO; nil if it may not be seen
	config map[string]string // of CONFIG GET, of what may be seen
	tag    string            // of a slot that this primary serves; empty outside of a Cluster
	err    error             // the connection's; nothing is asked after it
	unfit  bool              // nothing else can be said: this is no server for locks, or wants a password
}

func newExamination(b *backend, addr string, do Do) *examination {
	return &examination{b: b, server: addr, do: do, config: map[string]string{}}
}

// run makes all checks, and returns the error of the connection that ended them.
func (e *examination) run(ctx context.Context) error {
	for _, check := range []func(context.Context){
		e.checkRole, e.read, e.checkKind, e.checkServer, e.checkReplicas, e.checkSentinels, e.checkCluster, e.checkPersistence, e.checkMemory,
		e.checkClock, e.checkLatency,
		e.checkUser, e.checkSlot, e.checkScripts, e.checkReplication, e.checkPush, e.checkScan,
	} {
		if check(ctx); e.err != nil || e.unfit {
			return e.err
		}
	}
	return nil
}

// found adds a finding.
func (e *examination) found(grade driver.Grade, subject, format string, args ...any) {
	e.findings = append(e.findings, driver.Finding{
		Server: e.server, Subject: subject, Grade: grade, Text: fmt.Sprintf(format, args...),
	})
}

// unseen adds the finding that something may not be seen. Managed services hide
// much of what a server would tell.
func (e *examination) unseen(subject, what string) {
	if e.err == nil {
		e.found(driver.GradeNote, subject, "not allowed to see %s", what)
	}
}

// ask sends a command. It returns the server's refusal, or records any other
// error, after which nothing is asked any more.
func (e *examination) ask(ctx context.Context, args ...string) (reply any, refused error) {
	if e.err != nil {
		return nil, e.err
	}
	reply, err := e.do(ctx, args...)
	if err != nil && !wasAnswered(err) {
		e.err = err
	}
	return reply, err
}

// summary is about all primaries together.
func (b *backend) summary(all []*examination) []driver.Finding {
	s := &examination{b: b}
	switch {
	case len(all) == 0:
		s.found(driver.GradeFailure, "role", "no primary was found: a replica refuses locks")
	case !slices.ContainsFunc(all, func(e *examination) bool { return e.unfit }):
		s.promise(all)
	}
	return s.findings
}
