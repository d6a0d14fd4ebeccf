package redislock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/record"
)

// scanStep is how many keys the server is asked to look at in one step of a
// SCAN: some tens of microseconds in which it serves nobody else.
const scanStep = "1000"

// maxListed bounds the waiters that Inspect shows.
const maxListed = 1000

// wordLasts is how long it is left for a victim who revoked its grant.
const wordLasts = time.Hour

// strangerHead begins the id of a holder that is no client of this library: it
// is made of the value, so that exactly this one can be revoked.
const strangerHead = "foreign:"

func strangerDigest(holder string) (string, bool) { return strings.CutPrefix(holder, strangerHead) }

// errStop ends a walk over the nodes without being an error.
var errStop = errors.New("stop")

// List implements [driver.Inspector] by SCAN on every primary. Locks that are
// taken or released meanwhile may be missing or stale.
func (b *backend) List(ctx context.Context, prefix string) iter.Seq2[driver.Holding, error] {
	return func(yield func(driver.Holding, error) bool) {
		if err := b.usable(ctx); err != nil {
			yield(driver.Holding{}, err)
			return
		}
		pattern := globEscape.Replace(b.keys.lockKey(prefix)) + "*"
		shown := map[string]bool{} // SCAN may return a key twice
		err := b.conn.Primaries(ctx, func(_ string, do Do) error {
			return scan(ctx, do, pattern, func(found []string) error {
				return b.show(ctx, b.names(found, prefix, shown), yield)
			})
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(driver.Holding{}, explain(err))
		}
	}
}

// globEscape takes the meaning from what has one in a pattern of SCAN.
var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// scan calls found for every batch of keys of one node.
func scan(ctx context.Context, do Do, pattern string, found func([]string) error) error {
	for cursor := "0"; ; {
		reply, err := do(ctx, "SCAN", cursor, "MATCH", pattern, "COUNT", scanStep)
		if err != nil {
			return err
		}
		parts, ok := reply.([]any)
		if !ok || len(parts) != 2 {
			return fmt.Errorf("SCAN answered %T", reply)
		}
		cursor, _ = parts[0].(string)
		keys, _ := parts[1].([]any)
		if err := found(stringsOf(keys)); err != nil || cursor == "0" {
			return err
		}
	}
}

func stringsOf(values []any) []string {
	var texts []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// names picks the locks among keys, each once.
func (b *backend) names(found []string, prefix string, shown map[string]bool) []string {
	var names []string
	for _, key := range found {
		name, ok := b.keys.lockName(key)
		if ok && strings.HasPrefix(name, prefix) && !shown[name] {
			shown[name] = true
			names = append(names, name)
		}
	}
	return names
}

// show yields those of some locks that are held.
func (b *backend) show(ctx context.Context, names []string, yield func(driver.Holding, error) bool) error {
	if len(names) == 0 {
		return nil
	}
	calls := make([]Call, len(names))
	for i, name := range names {
		calls[i] = b.inspection(name, "0")
	}
	b.conn.EvalMany(ctx, calls)
	for i, name := range names {
		if calls[i].Err != nil {
			return calls[i].Err
		}
		if holding := b.holding(name, calls[i].Answer); holding.Held && !yield(holding, nil) {
			return errStop
		}
	}
	return nil
}

func (b *backend) inspection(name, listed string) Call {
	k := b.keys.of(name)
	return Call{Script: inspectScript, Keys: []string{k.lock, k.line}, Args: []string{listed}}
}

// Inspect implements [driver.Inspector].
func (b *backend) Inspect(ctx context.Context, name string) (driver.Holding, error) {
	if err := b.usable(ctx); err != nil {
		return driver.Holding{}, err
	}
	text, err := b.conn.Eval(ctx, b.inspection(name, fmt.Sprint(maxListed)))
	if err != nil {
		return driver.Holding{}, explain(err)
	}
	return b.holding(name, text), nil
}

// holding reads what the script inspect says.
func (b *backend) holding(name, text string) driver.Holding {
	head, rest, _ := strings.Cut(text, "\n")
	f := fields(head)
	kind, ttl := f.next(), f.millis()
	h := driver.Holding{Name: name, Key: b.keys.lockKey(name), Waiting: int(f.int())}
	listed, digest := int(f.int()), f.next()
	for range listed {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		h.Waiters = append(h.Waiters, waiterOf(line))
	}
	if kind == "-" {
		return h
	}
	h.Held, h.TTL = true, max(ttl, 0)
	v, ours := record.Parse(rest)
	switch {
	case kind != "s":
		h.Foreign, h.Owner = true, "another format ("+kind+")"
	case !ours:
		h.Foreign, h.Holder = true, strangerHead+digest
	default:
		h.Holder, h.Token, h.Since, h.Kept = v.Holder, v.Token, v.Since(), v.About.Kept
		h.Owner, h.Labels, h.Host, h.PID = v.About.Owner, v.About.Labels, v.About.Host, v.About.PID
	}
	return h
}

// waiterOf reads "TICKET HOLDER CLIENT GTTL META".
func waiterOf(line string) driver.Waiter {
	f := fields(line)
	ticket := f.int()
	if ticket < 0 {
		ticket += bargeShift
	}
	f.next()
	f.next()
	f.next()
	a := record.ParseAbout(string(f))
	return driver.Waiter{Owner: a.Owner, Host: a.Host, PID: a.PID, Since: time.UnixMicro(ticket)}
}

// bargeShift puts the tickets of those who barge before all others.
const bargeShift = 1 << 52
