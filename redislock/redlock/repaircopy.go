package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// copyStep is how many locks are read or written at a time.
const copyStep = 200

// A lock is what the others know of one key.
type lock struct {
	value string
	left  time.Duration // the longest of all
	split bool          // they have different values
}

// survey reads all locks of the other members, of which every majority must have
// one: any of them may have been held with the vote that s has forgotten.
func (r *repair) survey(ctx context.Context, s *seat, marker string) (map[string]lock, error) {
	found := map[string]lock{}
	others := slices.DeleteFunc(r.m.take(ctx).having(marker), func(o standing) bool { return o.seat == s })
	read := 0
	var failed []error
	for _, other := range others {
		if err := r.read(ctx, other.seat, found); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", other.seat.name, err))
			continue
		}
		read++
	}
	if majority := quorum.Majority(len(r.m.seats)); read < majority {
		return nil, fmt.Errorf("%d of the other servers tell what they know, and it takes %d: %w",
			read, majority, errors.Join(failed...))
	}
	return found, nil
}

// read adds the locks of one node.
func (r *repair) read(ctx context.Context, s *seat, found map[string]lock) error {
	conn, err := s.conn(ctx)
	if err != nil {
		return err
	}
	return conn.Primaries(ctx, func(_ string, do redislock.Do) error {
		return scanKeys(ctx, do, r.m.keys.prefix, func(keys []string) error {
			keys = slices.DeleteFunc(keys, r.m.keys.helps)
			for batch := range slices.Chunk(keys, copyStep) {
				answer, err := conn.Eval(ctx, redislock.Call{Script: showScript, Keys: batch})
				if err != nil {
					return err
				}
				r.note(batch, answer, found)
			}
			return nil
		})
	})
}

// note adds what the script show says of some keys.
func (r *repair) note(keys []string, answer string, found map[string]lock) {
	for _, key := range keys {
		head, rest, _ := strings.Cut(answer, "\n")
		left, length := twoNumbers(head)
		if length < 0 || length > int64(len(rest)) {
			return
		}
		value := rest[:length]
		answer = rest[length:]
		// Without a prefix every string of the server may be a lock: those without an
		// end are not, but data of applications.
		if left == -2 || left < 0 && r.m.keys.prefix == "" {
			continue
		}
		lasts := time.Duration(left) * time.Millisecond
		if left < 0 {
			lasts = r.m.mine.maxTTL // a stranger's, without an end
		}
		known, ok := found[key]
		found[key] = lock{
			value: value, left: max(known.left, lasts),
			split: known.split || ok && holderOf(known.value) != holderOf(value),
		}
	}
}

// holderOf is what tells two values of a lock apart: the number in them differs from
// node to node.
func holderOf(value string) string {
	rest, ours := strings.CutPrefix(value, "fh1:")
	holder, _, found := strings.Cut(rest, ":")
	if !ours || !found {
		return value
	}
	return "fh1:" + holder
}

// copyTo writes locks to a node, which does not vote yet. It returns how many it
// wrote, and for how many names it could not tell which value is the holder's.
func (r *repair) copyTo(ctx context.Context, s *seat, found map[string]lock) (copied, taken int, err error) {
	conn, err := s.conn(ctx)
	if err != nil {
		return 0, 0, err
	}
	for batch := range slices.Chunk(slices.Collect(maps.Keys(found)), copyStep) {
		calls := make([]redislock.Call, 0, len(batch))
		for _, key := range batch {
			known := found[key]
			if known.left <= 0 {
				continue
			}
			if known.split {
				known.value = placeholder()
				taken++
			}
			calls = append(calls, redislock.Call{
				Script: putScript, Keys: []string{key, r.m.keys.marker},
				Args: []string{known.value, strconv.FormatInt(known.left.Milliseconds(), 10)},
			})
		}
		conn.EvalMany(ctx, calls)
		for _, call := range calls {
			if call.Err != nil {
				return 0, 0, call.Err
			}
		}
		copied += len(calls)
	}
	return copied - taken, taken, nil
}

// placeholder is the value of a lock that is kept taken, under a holder id that
// nobody has.
func placeholder() string { return "fh1:" + driver.NewHolder() + ":1:1:k=" }

// twoNumbers reads "A B"; what cannot be read is -1.
func twoNumbers(text string) (int64, int64) {
	first, second, _ := strings.Cut(text, " ")
	a, err1 := strconv.ParseInt(first, 10, 64)
	b, err2 := strconv.ParseInt(second, 10, 64)
	if err1 != nil || err2 != nil {
		return -1, -1
	}
	return a, b
}
