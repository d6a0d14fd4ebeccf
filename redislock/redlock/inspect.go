package redlock

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// maxListed bounds the waiters that Inspect shows, and showStep how many locks List
// looks at in one request.
const (
	maxListed = 1000
	showStep  = 200
)

// looking is how long one node may take to be looked at.
const looking = 2 * time.Second

// Inspect implements [driver.Inspector]. A lock is held by whoever has it on a
// majority; where too few nodes have their memory, that is not known, and an error.
func (b *backend) Inspect(ctx context.Context, name string) (driver.Holding, error) {
	if err := b.enter(ctx); err != nil {
		return driver.Holding{}, err
	}
	defer b.work.Done()
	if err := b.members.stands(ctx); err != nil {
		return driver.Holding{}, err
	}
	holdings, err := b.look(ctx, []string{name}, maxListed)
	if err != nil {
		return driver.Holding{}, err
	}
	return holdings[0], nil
}

// List implements [driver.Inspector] by SCAN on every node. Locks that are taken or
// released meanwhile may be missing or stale.
func (b *backend) List(ctx context.Context, prefix string) iter.Seq2[driver.Holding, error] {
	return func(yield func(driver.Holding, error) bool) {
		if err := b.enter(ctx); err != nil {
			yield(driver.Holding{}, err)
			return
		}
		defer b.work.Done()
		if err := b.members.stands(ctx); err != nil {
			yield(driver.Holding{}, err)
			return
		}
		names, err := b.names(ctx, prefix)
		if err != nil {
			yield(driver.Holding{}, err)
			return
		}
		for batch := range slices.Chunk(names, showStep) {
			holdings, err := b.look(ctx, batch, 0)
			if err != nil {
				yield(driver.Holding{}, err)
				return
			}
			for _, h := range holdings {
				if h.Held && !yield(h, nil) {
					return
				}
			}
		}
	}
}

// names returns the names of all locks of a majority of nodes.
func (b *backend) names(ctx context.Context, prefix string) ([]string, error) {
	found := make([][]string, len(b.nodes))
	err := b.atEach(ctx, func(n *node, conn redislock.Conn) error {
		return conn.Primaries(ctx, func(_ string, do redislock.Do) error {
			return scanKeys(ctx, do, b.keys.lockKey(prefix), func(keys []string) error {
				for _, key := range keys {
					if name, ok := b.keys.lockName(key); ok && strings.HasPrefix(name, prefix) {
						found[n.index] = append(found[n.index], name)
					}
				}
				return nil
			})
		})
	})
	all := slices.Concat(found...)
	slices.Sort(all)
	return slices.Compact(all), err
}

// atEach does something at all nodes at once, and returns an error unless a majority
// has none.
func (b *backend) atEach(ctx context.Context, do func(*node, redislock.Conn) error) error {
	errs := make([]error, len(b.nodes))
	var work sync.WaitGroup
	for i, n := range b.nodes {
		work.Go(func() {
			conn, err := n.conn()
			if err == nil {
				err = do(n, conn)
			}
			errs[i] = refusal.Explain(err)
		})
	}
	work.Wait()
	e := &nodesError{of: len(b.nodes)}
	for i, err := range errs {
		if err != nil {
			e.add(b.nodes[i], err)
			continue
		}
		e.agreed++
	}
	switch {
	case e.agreed >= b.majority:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return e
}

// look shows some locks as a majority of the nodes has them.
func (b *backend) look(ctx context.Context, names []string, listed int) ([]driver.Holding, error) {
	limit, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	views := make([][]view, len(b.nodes))
	err := b.atEach(ctx, func(n *node, conn redislock.Conn) error {
		calls := make([]redislock.Call, len(names))
		for i, name := range names {
			all := b.keys.of(name).all
			calls[i] = redislock.Call{
				Script: inspectScript, Keys: []string{all[0], all[3]}, Args: []string{fmt.Sprint(listed)},
			}
		}
		conn.EvalMany(limit, calls)
		seen := make([]view, len(names))
		for i, call := range calls {
			if call.Err != nil {
				return ofLimit(call.Err)
			}
			seen[i] = parseView(call.Answer)
		}
		views[n.index] = seen
		return nil
	})
	if err != nil {
		return nil, err
	}
	holdings := make([]driver.Holding, len(names))
	for i, name := range names {
		var seen []view
		for _, of := range views {
			if of != nil {
				seen = append(seen, of[i])
			}
		}
		holdings[i] = b.combine(name, seen)
	}
	return holdings, nil
}

// view is what one node shows of a lock.
type view struct {
	kind, digest, value string
	left                int64
	waiting             int
	line                []string // TICKET ENTRY
}

// parseView reads what the script inspect says.
func parseView(text string) view {
	head, rest, _ := strings.Cut(text, "\n")
	f := fields(head)
	v := view{kind: f.next(), left: f.int(), waiting: int(f.int())}
	listed := int(f.int())
	v.digest = f.next()
	for range listed {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		v.line = append(v.line, line)
	}
	v.value = rest
	return v
}

// whose tells holders apart: the number in the value may differ from node to node.
func (v view) whose() string {
	if v.kind != "s" {
		return v.kind
	}
	return "s" + holderOf(v.value)
}

// combine shows what a majority has of a lock.
func (b *backend) combine(name string, seen []view) driver.Holding {
	h := driver.Holding{Name: name, Key: b.keys.lockKey(name)}
	h.Waiters, h.Waiting = lineOf(seen)
	for _, v := range seen {
		same := slices.DeleteFunc(slices.Clone(seen), func(o view) bool { return o.whose() != v.whose() })
		if v.kind != "-" && len(same) >= b.majority {
			show(&h, same, b.majority)
			break
		}
	}
	return h
}

// show fills in a holder that a majority has.
func show(h *driver.Holding, same []view, majority int) {
	slices.SortFunc(same, func(a, b view) int { return cmp.Compare(b.left, a.left) })
	h.Held, h.TTL = true, time.Duration(max(0, same[majority-1].left))*time.Millisecond
	first := same[0]
	v, ours := record.Parse(first.value)
	switch {
	case first.kind != "s":
		h.Foreign, h.Owner = true, "another format ("+first.kind+")"
		return
	case !ours:
		h.Foreign, h.Holder = true, strangerHead+first.digest
		return
	}
	h.Holder, h.Kept, h.Owner, h.Labels = v.Holder, v.About.Kept, v.About.Owner, v.About.Labels
	h.Host, h.PID = v.About.Host, v.About.PID
	numbers := map[int64]int{}
	for _, o := range same {
		v, _ := record.Parse(o.value)
		if numbers[int64(v.Token)]++; numbers[int64(v.Token)] >= majority {
			h.Token = v.Token
		}
	}
	h.Since = v.Since()
}

// lineOf joins the lines of the nodes, ordered by their tickets.
func lineOf(seen []view) ([]driver.Waiter, int) {
	entries := map[string]int64{}
	waiting := 0
	for _, v := range seen {
		waiting = max(waiting, v.waiting)
		for _, line := range v.line {
			f := fields(line)
			ticket := f.int()
			entries[string(f)] = ticket
		}
	}
	lines := make([]string, 0, len(entries))
	for entry := range entries {
		lines = append(lines, entry)
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(entries[a], entries[b]) })
	var waiters []driver.Waiter
	for _, line := range lines {
		waiters = append(waiters, waiterOf(line, entries[line]))
	}
	return waiters, max(waiting, len(waiters))
}

// waiterOf reads "HOLDER CLIENT GTTL META".
func waiterOf(entry string, ticket int64) driver.Waiter {
	if ticket < 0 {
		ticket += bargeShift
	}
	f := fields(entry)
	f.next()
	f.next()
	f.next()
	a := record.ParseAbout(string(f))
	return driver.Waiter{Owner: a.Owner, Host: a.Host, PID: a.PID, Since: time.UnixMicro(ticket)}
}
