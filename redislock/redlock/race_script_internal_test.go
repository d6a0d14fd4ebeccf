package redlock

import (
	"context"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// A tap sends single requests to one node, in any order.
type tap struct {
	t      *testing.T
	server *testcluster.Redis
	node   *node
	keys   keyspace
}

func newTap(t *testing.T) *tap {
	t.Helper()
	p := &tap{t: t, server: testcluster.StartRedis(t), node: newNode(0, "the node")}
	conn, err := newSeat(t, 0, p.server).conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p.node.connected(conn)
	p.keys.init("lock:")
	p.server.Do("SET", p.keys.marker, "3 60000")
	return p
}

// does runs a script on the lock "job", and fails unless the answer begins with want.
func (p *tap) does(want string, script *redislock.Script, keys int, args ...string) {
	p.t.Helper()
	conn, _ := p.node.conn()
	got, err := conn.Eval(context.Background(), redislock.Call{Script: script, Keys: p.keys.of("job").all[:keys], Args: args})
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.HasPrefix(got, want) {
		p.t.Fatalf("answered %q, want %q", got, want)
	}
}

func (p *tap) acquires(want, holder, proposal string) {
	p.t.Helper()
	p.does(want, acquireScript, 4, holder, "5000", "o=x", "3 60000", proposal, p.keys.kin, "try")
}

func (p *tap) releases(want, holder string) {
	p.t.Helper()
	p.does(want, releaseScript, 4, holder, "3 60000", "1", p.keys.kin, "", "")
}

func (p *tap) settles(want, holder, from, to string) {
	p.t.Helper()
	p.does(want, settleScript, 2, holder, from, to)
}

// The first round is executed twice, the second time after another grant: the second
// round of the first is refused.
func TestRace03ExecutedTwice(t *testing.T) {
	p := newTap(t)
	p.acquires("G 1000 ", "A", "1000")
	p.server.Do("DEL", "lock:job") // it expires
	p.acquires("G 1001 ", "B", "1000")
	p.settles("N ", "A", "1000", "2000")
	p.releases("R", "B")
	p.acquires("G 1002 ", "A", "1000") // the copy
	p.settles("N ", "A", "1000", "2000")
	p.settles("G 3000 ", "A", "1002", "3000")
	p.settles("G 3000 ", "A", "1002", "3000")
	p.releases("R", "A")
	p.acquires("G 3001 ", "C", "1000")
}

// A request for another lock comes between the rounds: that is no harm.
func TestAnotherLockBetweenTheRounds(t *testing.T) {
	p := newTap(t)
	p.acquires("G 1000 ", "A", "1000")
	p.server.Do("SET", p.keys.counter, "5000") // another lock of this node
	p.settles("G 2000 ", "A", "1000", "2000")
	if counter := p.server.Do("GET", p.keys.counter); counter != "5000" {
		t.Errorf("the counter went back to %s", counter)
	}
}

// An attempt is repeated: it is answered from the value, and nothing changes.
func TestRepeatedAttempt(t *testing.T) {
	p := newTap(t)
	p.acquires("G 1000 ", "A", "1000")
	p.acquires("G 1000 ", "A", "7000")
	p.acquires("B s ", "B", "8000")
	if counter := p.server.Do("GET", p.keys.counter); counter != "1000" {
		t.Errorf("the counter is %s", counter)
	}
}

// A client's clock that is far ahead is not believed.
func TestProposalAheadOfTheClock(t *testing.T) {
	p := newTap(t)
	p.acquires("G ", "A", "9007199254740000")
	clock, _, _ := strings.Cut(p.server.Do("TIME"), "\n")
	if counter := p.server.Do("GET", p.keys.counter); len(counter) != 16 || counter[:8] > "9007199" {
		t.Errorf("the counter is %s, the clock %s s", counter, clock)
	}
}

// A node that belongs to no set, or to another one, does not vote, and hands nothing
// over.
func TestWithoutTheMarker(t *testing.T) {
	p := newTap(t)
	p.acquires("G ", "A", "1000")
	p.server.Do("ZADD", "lock:fh!r:job", "1", "B nobody 1000 o=x")
	for _, marker := range []string{"", "5 60000"} {
		p.server.Do("DEL", p.keys.marker)
		if marker != "" {
			p.server.Do("SET", p.keys.marker, marker)
		}
		p.acquires("A", "C", "1000")
		p.does("A", mendScript, 3, "fh1:A:1:1:o=x", "5000", "1", "3 60000")
	}
	p.releases("R", "A")
	p.acquires("A", "C", "1000")
	if n := p.server.Do("ZCARD", "lock:fh!r:job"); n != "1" {
		t.Errorf("%s in line, want 1: a node that does not vote hands nothing over", n)
	}
}

// A value is put back where somebody else has the lock: it stays theirs.
func TestRace08MendOverwritesNobody(t *testing.T) {
	p := newTap(t)
	p.acquires("G 1000 ", "B", "1000")
	theirs := p.server.Do("GET", "lock:job")
	p.does("N", mendScript, 3, "fh1:A:2000:1:o=x", "5000", "2000", "3 60000")
	if value := p.server.Do("GET", "lock:job"); value != theirs {
		t.Errorf("the value is %q now", value)
	}
	p.releases("R", "B")
	p.does("G 2000 ", mendScript, 3, "fh1:A:2000:1:o=x", "5000", "2000", "3 60000")
	p.releases("R", "A")
	p.acquires("G 2001 ", "C", "1000")
}
