package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fencehold/fencehold/bench/internal/peer"
)

// Locks on a set of servers; redsync is on clients of rueidis with the same options.
var (
	setCycle = measure{
		name: "free lock on five servers: cycle p50", unit: "µs", base: peer.RedsyncRueidis.Name, goal: "ratio ≤ 1.15",
	}
	setLeft = measure{name: "keys left by 1,000 failed attempts, after 1 s", goal: "0"}
)

// setStandard is that of hand-overs on a set.
var setStandard = standard{
	libraries: []peer.Library{peer.RedsyncRueidis, peer.Redsync, peer.Redlock}, where: " on five servers",
	drain: map[int]string{8: "ratio ≥ 20", 64: "ratio ≥ 8"},
}

// set is what is measured on a set of servers.
func (s *session) set() []func(int) error {
	return []func(int) error{s.setFree, s.setHandovers, s.setLeft}
}

// setFree compares cycles that nobody contends for.
func (s *session) setFree(int) error {
	all := append(slices.Clone(peer.SetLocks), peer.RedsyncFailFast)
	clients, err := s.openAll(all)
	if err != nil {
		return err
	}
	defer closeAll(clients)
	return s.compareCycles(contestants{
		append([]peer.Library{peer.SharedRedsync}, all...),
		append([]peer.Client{peer.RedsyncOn(clients[0])}, clients...),
	}, setCycle)
}

func (s *session) setHandovers(round int) error {
	return s.compareCrowds(round, s.scale.setCrowds, &setStandard)
}

// setLeft counts what failed attempts leave.
func (s *session) setLeft(round int) error {
	for _, library := range peer.SetLocks {
		names := fmt.Sprintf("left %s %d ", library.Name, round)
		s.occupy(library.Prefix + names)
		if err := s.fail(library, names); err != nil {
			return fmt.Errorf("%s: failed attempts: %w", library.Name, err)
		}
		s.table.add(setLeft, library.Name, float64(s.left(names)))
	}
	return nil
}

// occupyScript gives somebody else the locks whose keys begin with a prefix: of the
// numbers from 0 the even ones, and of the odd ones a majority of five servers has
// it, another one each time. Arguments: the prefix, how many, the number of the server.
const occupyScript = `for i = 0, ARGV[2] - 1 do
	if i % 2 == 0 or (math.floor(i / 2) + ARGV[3]) % 5 < 3 then
		redis.call('SET', ARGV[1] .. i, 'somebody else', 'PX', 600000)
	end
end`

// occupy makes attempts fail: half of them at every server, the others at three.
func (s *session) occupy(prefix string) {
	for i, server := range s.servers {
		server.Do("EVAL", occupyScript, "0", prefix, strconv.Itoa(s.scale.attempts), strconv.Itoa(i))
	}
}

var errGranted = errors.New("was granted although somebody else has a majority")

// fail makes one attempt for each of the locks.
func (s *session) fail(library peer.Library, names string) error {
	clients, err := s.openAll([]peer.Library{library})
	if err != nil {
		return err
	}
	defer closeAll(clients)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for i := range s.scale.attempts {
		got, err := clients[0].(peer.Attempter).Attempt(ctx, names+strconv.Itoa(i))
		if got {
			err = errGranted
		}
		if err != nil {
			return fmt.Errorf("attempt %d: %w", i, err)
		}
	}
	time.Sleep(time.Second)
	return nil
}

// leftScript counts the keys with a text in their names that are not somebody else's.
const leftScript = `local left = 0
for _, key in ipairs(redis.call('KEYS', '*' .. ARGV[1] .. '*')) do
	if redis.call('TYPE', key).ok ~= 'string' or redis.call('GET', key) ~= 'somebody else' then left = left + 1 end
end
return left`

// left counts on all servers.
func (s *session) left(names string) int {
	sum := 0
	for _, server := range s.servers {
		n, _ := strconv.Atoi(server.Do("EVAL", leftScript, "0", names))
		sum += n
	}
	return sum
}
