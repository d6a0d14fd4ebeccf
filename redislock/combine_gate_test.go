package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
)

// gate is a Conn whose requests a test keeps back, each apart from the others,
// as the connections of a pool do.
type gate struct {
	redislock.Conn
	many  atomic.Pointer[passage] // for requests that go together; nil: free
	alone atomic.Pointer[passage] // for all others
	sent  atomic.Int32            // how many requests went together
	asked atomic.Int32            // how many orders were in them
	past  atomic.Int32            // how many of them the server has answered
	freed atomic.Int32            // how many releases it has answered that were made alone
}

// passage lets one request through; pass sends it.
type passage func(ctx context.Context, call redislock.Call, pass func() (string, error)) (string, error)

// Eval implements [redislock.Conn].
func (g *gate) Eval(ctx context.Context, call redislock.Call) (string, error) {
	through := g.alone.Load()
	if call.Script == redislock.ManyScript {
		g.sent.Add(1)
		g.asked.Add(int32(len(call.Args) / 3))
		through = g.many.Load()
	}
	pass := func() (string, error) {
		defer g.count(call.Script)
		return g.Conn.Eval(ctx, call)
	}
	if through == nil {
		return pass()
	}
	return (*through)(ctx, call, pass)
}

// count counts what was answered.
func (g *gate) count(script *redislock.Script) {
	switch script {
	case redislock.ManyScript:
		g.past.Add(1)
	case redislock.ScriptsByName["release"]:
		g.freed.Add(1)
	}
}

// gathering is one server, with a client whose requests are all gathered.
type gathering struct {
	*race
	gate    *gate
	backend driver.Backend
	client  *fencehold.Client
}

// newGathering starts a server.
func newGathering(t *testing.T) *gathering {
	t.Helper()
	r := newRace(t)
	r.server.Do("SCRIPT", "LOAD", redislock.ManyScript.Source())
	return r.gathers(r.plug(r.server.Addr()))
}

// gathers opens a client on a connection.
func (r *race) gathers(conn redislock.Conn) *gathering {
	r.Helper()
	g := &gate{Conn: conn}
	backend, err := redislock.NewConn(g, nil)
	if err != nil {
		r.Fatal(err)
	}
	return &gathering{race: r, gate: g, backend: backend, client: r.on(backend)}
}

// busies are the locks that keep a client busy, so that all else is gathered.
var busies = []string{"busy-a", "busy-b"}

// occupy has two requests under way that are not answered before free is called:
// whatever simple request comes now is gathered. free ends with the test.
func (g *gathering) occupy() (free func()) {
	g.Helper()
	opened := make(chan struct{})
	var held atomic.Int32
	hold := passage(func(ctx context.Context, call redislock.Call, pass func() (string, error)) (string, error) {
		if !slices.ContainsFunc(busies, func(name string) bool { return call.Keys[0] == "lock:"+name }) {
			return pass()
		}
		held.Add(1)
		select {
		case <-opened:
			return pass()
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	g.gate.alone.Store(&hold)
	var requests sync.WaitGroup
	for _, name := range busies {
		requests.Go(func() { _, _ = g.backend.TryAcquire(context.Background(), request(name)) })
	}
	g.eventually(hang, "two requests are under way", func() bool { return held.Load() == 2 })
	free = sync.OnceFunc(func() {
		close(opened)
		requests.Wait()
	})
	g.Cleanup(free)
	return free
}

// keepMany keeps back all requests that go together until open is called. lost
// has their answers lost; the returned channel tells of each.
func (g *gathering) keepMany(lost bool) (kept <-chan struct{}, open func()) {
	opened, seen := make(chan struct{}), make(chan struct{}, 64)
	hold := passage(func(_ context.Context, _ redislock.Call, pass func() (string, error)) (string, error) {
		seen <- struct{}{}
		<-opened
		answer, err := pass()
		if lost && err == nil {
			return "", errors.New("connection lost")
		}
		return answer, err
	})
	g.gate.many.Store(&hold)
	open = sync.OnceFunc(func() {
		g.gate.many.Store(nil)
		close(opened)
	})
	g.Cleanup(open)
	return seen, open
}

// request asks for a lock as package fencehold does.
func request(name string) driver.Request {
	return driver.Request{Name: name, Holder: driver.NewHolder(), Owner: "test", TTL: long}
}

// outcomes are what came of requests for many locks.
type outcomes struct {
	leases []*fencehold.Lease
	errs   []error
}

// together tries for all names at once.
func (g *gathering) together(names ...string) outcomes {
	g.Helper()
	var all sync.WaitGroup
	out := outcomes{make([]*fencehold.Lease, len(names)), make([]error, len(names))}
	for i, name := range names {
		all.Go(func() { out.leases[i], out.errs[i] = g.client.Mutex(name).TryAcquire(g.Context()) })
	}
	all.Wait()
	return out
}

// granted demands that all are leases, with tokens of their own.
func (g *gathering) granted(out outcomes) []*fencehold.Lease {
	g.Helper()
	tokens := map[fencehold.Token]bool{}
	for i, err := range out.errs {
		if err != nil {
			g.Fatal(err)
		}
		if tokens[out.leases[i].Token()] {
			g.Fatalf("token %v was given twice", out.leases[i].Token())
		}
		tokens[out.leases[i].Token()] = true
	}
	return out.leases
}

// releaseAll releases at once.
func (g *gathering) releaseAll(leases []*fencehold.Lease) {
	g.Helper()
	var all sync.WaitGroup
	for _, lease := range leases {
		all.Go(func() {
			if err := lease.Release(context.Background()); err != nil {
				g.Error(err)
			}
		})
	}
	all.Wait()
}

// gathered demands that at least n orders were sent with others.
func (g *gathering) gathered(n int) {
	g.Helper()
	if asked := g.gate.asked.Load(); int(asked) < n {
		g.Fatalf("%d orders went together, want %d at least: the test has not met what it is for", asked, n)
	}
}

// names returns n names.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "own" + strconv.Itoa(i)
	}
	return list
}

// locks returns the keys of all locks that are held, but for those that keep a
// client busy.
func (r *race) locks() []string {
	var keys []string
	for key := range strings.SplitSeq(r.server.Do("KEYS", "lock:*"), "\n") {
		if key != "" && !strings.HasPrefix(key, "lock:fh!") && !strings.HasPrefix(key, "lock:busy-") {
			keys = append(keys, key)
		}
	}
	return keys
}

// freed demands that no lock is held, long before the first would end by itself.
func (r *race) freed() {
	r.Helper()
	r.eventually(hang, "all locks are free", func() bool { return len(r.locks()) == 0 })
}

// grantFor is a grant that nobody was given.
func grantFor(name string) driver.Grant {
	return driver.Grant{Name: name, Holder: driver.NewHolder(), Sent: driver.Now(), TTL: long}
}
