package redislock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// trialTTL is how long what a trial leaves would live, if it could not be
// removed.
const trialTTL = 10 * time.Second

// checkUser says who we are.
func (e *examination) checkUser(ctx context.Context) {
	reply, refused := e.ask(ctx, "ACL", "WHOAMI")
	if name, ok := reply.(string); ok && refused == nil {
		e.found(driver.GradeGood, "user", "%s", name)
		return
	}
	e.unseen("user", "the name of the user (ACL WHOAMI)")
}

// checkSlot finds a slot of this primary, for keys to try. Most of them are
// found at once, since a primary has a long row of slots.
func (e *examination) checkSlot(ctx context.Context) {
	if e.b.conn.Mode() != Cluster {
		return
	}
	for slot := 0; slot < slots; slot += 64 {
		tag := tagOf(slot)
		if strings.Contains(e.b.keys.prefix, "{") {
			tag = tagOf(slotOf(e.b.keys.prefix))
		}
		if _, refused := e.ask(ctx, "EXISTS", e.kin()+tag); refused == nil {
			e.tag = tag
			return
		}
		if e.err != nil {
			return
		}
	}
}

// served reports whether keys can be tried here: a primary of a Cluster may
// have no slot, or none that locks with this prefix use.
func (e *examination) served() bool { return e.tag != "" || e.b.conn.Mode() != Cluster }

// kin begins all keys and channels of a trial; no lock has such a key.
func (e *examination) kin() string { return e.b.keys.kin + "doctor" }

// trial is a lock that nobody else can name.
type trial struct {
	keys   keys
	life   string // key of the sign of life
	word   string // key of the word to a victim
	holder string
	client string
}

func (e *examination) newTrial() trial {
	id, client := driver.NewHolder(), driver.NewHolder()[:16]
	key := func(letter, of string) string { return e.kin() + letter + e.tag + ":" + of }
	return trial{
		keys:   keys{lock: key("k", id), counter: key("c", id), line: key("q", id), tag: e.tag, where: e.kin() + "\n" + e.tag},
		life:   key("p", client),
		word:   key("x", id),
		holder: id, client: client,
	}
}

// checkScripts runs every script on a trial, as locks do. What a user may not
// do shows in that better than in its list of rights.
func (e *examination) checkScripts(ctx context.Context) {
	if !e.served() {
		e.found(driver.GradeNote, "rights", "serves no slot that was tried, so nothing was tried")
		return
	}
	t := e.newTrial()
	defer e.remove(context.WithoutCancel(ctx), t)
	for _, step := range e.steps(t) {
		text, refused := e.eval(ctx, step.call)
		switch {
		case e.err != nil:
			return
		case refused != nil:
			e.found(driver.GradeFailure, "rights", "%s fails: %v", step.what, explain(refused))
			return
		case !strings.HasPrefix(text, step.want):
			e.found(driver.GradeFailure, "rights", "%s was answered %q, against the rules", step.what, text)
			return
		}
	}
	e.found(driver.GradeGood, "rights", "scripts run: taking, waiting, renewing, inspecting, revoking and releasing a "+
		"lock under %s", e.kin())
}

// step is one script of a trial, with how its answer must begin.
type step struct {
	what string
	call Call
	want string
}

// steps are a short life of a lock for which somebody waits in vain.
func (e *examination) steps(t trial) []step {
	k, ttl := t.keys, millis(trialTTL)
	all := []string{k.lock, k.counter, k.line}
	waiter := t.holder[1:] + "W"
	channel := e.inbox(t)
	return []step{
		{"taking a lock", call(acquireScript, all, t.holder, ttl, "", "try", k.where), "G "},
		{"waiting for a lock", call(acquireScript, all, waiter, ttl, "", "wait", k.where,
			strings.Join([]string{t.client, ttl, channel, ttl, "last"}, "\n")), "W "},
		{"a sign of life", call(pingScript, []string{t.life, k.counter}, channel, ttl, k.tag), ""},
		{"renewing a lock", call(renewScript, []string{k.lock}, t.holder, ttl, k.where), "G "},
		{"inspecting a lock", call(inspectScript, []string{k.lock, k.line}, "10"), "s "},
		{"leaving the line", call(releaseScript, all, waiter, k.where, "0", "",
			waiter+" "+t.client+" "+ttl+" "), "N "},
		{"revoking a lock", call(revokeScript, append(all[:3:3], t.word), t.holder, "", e.kin(), k.tag,
			"why=trial", ttl, e.kin()+"l:", `"trial"`), "R"},
		{"taking a lock again", call(acquireScript, all, waiter, ttl, "", "barge", k.where), "G "},
		{"releasing a lock", call(releaseScript, all, waiter, k.where), "R"},
	}
}

func call(script *Script, keys []string, args ...string) Call {
	return Call{Script: script, Keys: keys, Args: args}
}

// eval runs a script on this server. Its name alone is sent first, as locks do:
// a user may have the right to that, or to the text, alone.
func (e *examination) eval(ctx context.Context, c Call) (string, error) {
	rest := append([]string{fmt.Sprint(len(c.Keys))}, c.Keys...)
	rest = append(rest, c.Args...)
	reply, refused := e.ask(ctx, append([]string{"EVALSHA", c.Script.SHA1()}, rest...)...)
	if isNoScript(refused) {
		reply, refused = e.ask(ctx, append([]string{"EVAL", c.Script.Source()}, rest...)...)
	}
	text, _ := reply.(string)
	return text, refused
}

// remove deletes what a trial made. What cannot be deleted expires.
func (e *examination) remove(ctx context.Context, t trial) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, _ = e.ask(ctx, "DEL", t.keys.lock, t.keys.counter, t.keys.line, t.life, t.word)
}

// checkScan tries what a list of locks needs.
func (e *examination) checkScan(ctx context.Context) {
	_, refused := e.ask(ctx, "SCAN", "0", "MATCH", globEscape.Replace(e.kin())+"*", "COUNT", "1")
	switch {
	case e.err != nil:
	case refused != nil:
		e.found(driver.GradeWarning, "rights", "listing locks fails: %v", explain(refused))
	default:
		e.found(driver.GradeGood, "rights", "locks can be listed (SCAN)")
	}
}

// checkReplication waits for the replicas that each grant will wait for.
func (e *examination) checkReplication(ctx context.Context) {
	want, limit := e.b.opts.MinReplicas, e.b.opts.ReplicaTimeout
	if want == 0 || !e.served() || e.err != nil {
		return
	}
	t := e.newTrial()
	defer e.remove(context.WithoutCancel(ctx), t)
	began := time.Now()
	_, got, err := e.b.conn.EvalWait(ctx, e.steps(t)[0].call, want, limit)
	took := fine(time.Since(began))
	switch {
	case err != nil && !wasAnswered(err):
		e.err = err
	case err != nil:
		e.found(driver.GradeFailure, "min_replicas", "waiting for replicas fails: %v", explain(err))
	case got < want:
		e.found(driver.GradeFailure, "min_replicas", "%d of %d replicas confirmed a grant within %v: no lock can be taken",
			got, want, limit)
	default:
		e.found(driver.GradeGood, "min_replicas", "%d of %d replicas confirmed a grant in %v", got, want, took)
	}
}
