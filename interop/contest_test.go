package interop

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// The keys of a contest. Whoever has the lock adds one to counter by reading
// and writing, and shows itself inside.
const (
	insideKey   = "contest:inside"
	counterKey  = "contest:counter"
	overlapsKey = "contest:overlaps"
	turnsKey    = "contest:turns" // a hash: kind → turns made
)

// lockTTL is the time to live of every lock here: far longer than any turn.
const lockTTL = 10 * time.Second

// contest is what contenders in this process need to know.
type contest struct {
	key   string // of the lock
	turns int    // after which it is over
}

// referee is a contender's own connection to the keys of the contest.
type referee struct{ client rueidis.Client }

// newReferee returns a referee that is closed with the test.
func newReferee(tb testing.TB, server *testcluster.Redis) referee {
	tb.Helper()
	return referee{newRueidis(tb, server)}
}

// over tells whether enough turns were made.
func (r referee) over(c contest) (bool, error) {
	made, err := r.counter()
	return made >= c.turns, err
}

func (r referee) counter() (int, error) {
	n, err := r.client.Do(context.Background(), r.client.B().Get().Key(counterKey).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	return int(n), err
}

// turn is what is done under the lock. It loses an update, and counts an
// overlap, if somebody else is inside.
func (r referee) turn(kind string) error {
	ctx, b := context.Background(), r.client.B
	inside, err := r.client.Do(ctx, b().Incr().Key(insideKey).Build()).AsInt64()
	if err == nil && inside != 1 {
		err = r.client.Do(ctx, b().Incr().Key(overlapsKey).Build()).Error()
	}
	made, failed := r.counter()
	return errors.Join(
		err, failed,
		r.client.Do(ctx, b().Set().Key(counterKey).Value(strconv.Itoa(made+1)).Build()).Error(),
		r.client.Do(ctx, b().Hincrby().Key(turnsKey).Field(kind).Increment(1).Build()).Error(),
		r.client.Do(ctx, b().Decr().Key(insideKey).Build()).Error(),
	)
}

// compete makes turns until the contest is over. Between two it leaves the
// lock alone for 20 ms at most, so that everybody gets a chance.
func (r referee) compete(c contest, kind string, acquire func() (release func() error, err error)) error {
	for {
		if over, err := r.over(c); over || err != nil {
			return err
		}
		release, err := acquire()
		if err != nil {
			return err
		}
		if err := errors.Join(r.turn(kind), release()); err != nil {
			return err
		}
		time.Sleep(rand.N(20 * time.Millisecond))
	}
}
