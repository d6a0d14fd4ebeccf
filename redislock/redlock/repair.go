package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// attemptsEnd is how long an attempt can be under way: its two rounds take a second
// each at most, and so does what the network holds back.
const attemptsEnd = 3 * time.Second

// RepairOptions say how [Repair] works. The zero value waits for nobody's word and
// reports nothing.
type RepairOptions struct {
	// Force also mends a set of which no majority is left: on the operator's word
	// that nobody works under a lock of it. It waits for the longest TTL.
	Force bool
	// Progress is told what is being done, one line at a time; nil tells nobody.
	Progress func(text string)
}

// Repair lets the servers of a set vote again that have lost their memory, at once
// and not after the longest TTL: it copies to them what the others know. backend is
// one of this package. It returns [fencehold.ErrUnavailable] if too few servers have
// their memory, unless Force is set; [fencehold.ErrInvalid] if a server belongs to
// another set; and an error if a server could not be mended. ctx bounds the whole.
func Repair(ctx context.Context, b driver.Backend, opts RepairOptions) error {
	r, ok := b.(*backend)
	if !ok {
		return fmt.Errorf("%w: repair of anything but a Redlock set", errors.ErrUnsupported)
	}
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	if err := r.enter(ctx); err != nil {
		return err
	}
	defer r.work.Done()
	return (&repair{m: r.members, opts: opts}).run(ctx)
}

// repair is one call of [Repair].
type repair struct {
	m    *members
	opts RepairOptions
}

func (r *repair) say(format string, args ...any) { r.opts.Progress(fmt.Sprintf(format, args...)) }

// run finds out what is to be done.
func (r *repair) run(ctx context.Context) error {
	c := r.m.take(ctx)
	if err := r.m.strange(c.answered()); err != nil {
		return err
	}
	marker, count := c.common()
	majority := quorum.Majority(len(c))
	switch {
	case count >= majority:
		if err := parseTitle(marker).admits(r.m.claim()); err != nil {
			return err
		}
		return r.readmit(ctx, c, marker)
	case len(c.answered()) < majority:
		return unready(c, "")
	case !r.opts.Force:
		return r.hopeless(c, count)
	}
	return r.refound(ctx, c)
}

// hopeless says what repair cannot do without force.
func (r *repair) hopeless(c census, members int) error {
	e := unready(c, "")
	switch {
	case c.founding():
		e.text = "no server belongs to a set yet: the first lock founds it"
	case !c.blank():
		e.text = fmt.Sprintf("only %d of %d servers %s memory, and it takes %d to know every lock (without: %s): if "+
			"nobody works under a lock of this set, --force founds it again", members, len(c),
			verb(members, "has its", "have their"), quorum.Majority(len(c)), c.having("").names())
	}
	return e
}

// blank reports whether no node that answers is a member, or is becoming one.
func (c census) blank() bool {
	return !slices.ContainsFunc(c, func(s standing) bool { return s.marker != "" || s.joining() })
}

// founding reports whether the next client founds the set.
func (c census) founding() bool { return c.blank() && len(c.answered()) == len(c) }

// readmit lets those in that have lost their memory, from what the others know.
func (r *repair) readmit(ctx context.Context, c census, marker string) error {
	var failed []error
	lost := c.having("")
	for _, s := range c {
		switch {
		case s.err != nil:
			failed = append(failed, fmt.Errorf("%s cannot be reached: %w", s.seat.name, s.err))
		case s.marker != "" && s.marker != marker:
			r.say("%s: its limit of TTLs becomes that of the set", s.seat.name)
			if _, err := r.m.retitle(ctx, s, marker); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", s.seat.name, err))
			}
		}
	}
	if len(lost) == 0 {
		text := "none has lost its memory"
		if down := len(c) - len(c.answered()); down > 0 {
			text = fmt.Sprintf("%d cannot be reached", down)
		}
		r.say("%d of %d servers vote; %s", len(c.having(marker)), len(c), text)
		return notRepaired(failed)
	}
	r.m.each(ctx, lost, func(ctx context.Context, s standing) (string, error) {
		r.say("%s: has lost its memory, and is joining", s.seat.name)
		return r.m.run(ctx, s.seat, joinScript, []string{r.m.keys.marker, r.m.keys.joined})
	})
	r.say("waiting %v until all attempts that are under way have ended", attemptsEnd)
	if err := sleep(ctx, attemptsEnd); err != nil {
		return err
	}
	for _, s := range lost {
		if err := r.mend(ctx, s.seat, marker); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.seat.name, err))
		}
	}
	return notRepaired(failed)
}

// mend copies the locks that the others know to a node, and lets it vote.
func (r *repair) mend(ctx context.Context, s *seat, marker string) error {
	found, err := r.survey(ctx, s, marker)
	if err != nil {
		return err
	}
	copied, taken, err := r.copyTo(ctx, s, found)
	if err != nil {
		return err
	}
	// The counters are read last: a token that was fixed with this node's old vote
	// is in one of them since before the wait.
	counter, ok := r.m.take(ctx).counterBeside(s, marker)
	if !ok {
		return errors.New("too few of the other servers answer")
	}
	if err := r.letIn(ctx, s, marker, counter, attemptsEnd); err != nil {
		return err
	}
	r.say("%s: votes again, with %d locks copied and %d names kept taken", s.name, copied, taken)
	return nil
}

// letIn admits a node.
func (r *repair) letIn(ctx context.Context, s *seat, marker string, counter int64, wait time.Duration) error {
	for {
		answer, err := r.m.admit(ctx, s, marker, counter, wait)
		left, early := strings.CutPrefix(answer, "W ")
		switch {
		case err != nil:
			return err
		case early:
			if err := sleep(ctx, micros(left)+time.Millisecond); err != nil {
				return err
			}
			continue
		case answer == "E":
			return errors.New("it was emptied once more: repair again")
		}
		return nil
	}
}

// refound waits until every lock has ended, and makes the nodes that answer members.
func (r *repair) refound(ctx context.Context, c census) error {
	present := c.answered()
	set := r.m.claim()
	for _, s := range present {
		set.maxTTL = max(set.maxTTL, parseTitle(s.marker).maxTTL)
	}
	if set.maxTTL == 0 {
		set.maxTTL = r.m.mine.maxTTL
	}
	marker := set.String()
	lost := present.having("")
	r.m.each(ctx, lost, func(ctx context.Context, s standing) (string, error) {
		return r.m.run(ctx, s.seat, joinScript, []string{r.m.keys.marker, r.m.keys.joined})
	})
	r.say("waiting %v, the longest TTL, until every lock has ended", set.maxTTL)
	if err := sleep(ctx, set.maxTTL); err != nil {
		return err
	}
	counter := r.m.take(ctx).answered().counter()
	var failed []error
	for _, s := range present {
		if err := r.enlist(ctx, s, marker, counter, set.maxTTL); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.seat.name, err))
			continue
		}
		r.say("%s: votes", s.seat.name)
	}
	return notRepaired(failed)
}

// enlist makes a node a member that was one of few, or of none.
func (r *repair) enlist(ctx context.Context, s standing, marker string, counter int64, waited time.Duration) error {
	if s.marker == "" {
		return r.letIn(ctx, s.seat, marker, counter, waited)
	}
	_, err := r.m.retitle(ctx, s, marker)
	return err
}

// notRepaired joins what went wrong, nil if nothing did.
func notRepaired(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%w: not all servers could be mended: %w", fencehold.ErrUnavailable, errors.Join(failed...))
}

// sleep waits, and no longer than ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
