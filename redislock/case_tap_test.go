package redislock_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// A tap is a proxy before a server that knows which scripts it was sent.
type tap struct {
	*testcluster.Proxy

	mu    sync.Mutex
	sent  []sent
	onSee map[string]func() // called before a script passes
}

// sent is one script that passed, by its name, and when.
type sent struct {
	script, request string
	at              time.Time
}

// newTap starts a proxy before a server whose script cache is warm: scripts
// are then sent by their digests, which tell them apart.
func newTap(t testing.TB, server *testcluster.Redis) *tap {
	t.Helper()
	t.Helper()
	warm(server)
	p := &tap{Proxy: testcluster.StartProxy(t, server.Addr())}
	p.OnRequest(p.note)
	return p
}

// warm fills the script cache of a server.
func warm(server *testcluster.Redis) {
	for _, script := range redislock.ScriptsByName {
		server.Do("SCRIPT", "LOAD", script.Source())
	}
}

// note remembers a script.
func (p *tap) note(request []byte) {
	parts := strings.SplitN(string(request), "\r\n", 6)
	if len(parts) < 6 || !strings.EqualFold(parts[2], "EVALSHA") && !strings.EqualFold(parts[2], "EVAL") {
		return
	}
	name := "unknown"
	for known, script := range redislock.ScriptsByName {
		if script.SHA1() == parts[4] {
			name = known
		}
	}
	p.mu.Lock()
	p.sent = append(p.sent, sent{name, string(request), time.Now()})
	see := p.onSee[name]
	p.mu.Unlock()
	if see != nil {
		see()
	}
}

// on has f called before each run of a script passes; nil ends it.
func (p *tap) on(script string, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.onSee == nil {
		p.onSee = map[string]func(){}
	}
	p.onSee[script] = f
}

// client opens a client behind the tap.
func (p *tap) client(t testing.TB, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	return openThrough(t, p.Proxy, opts...)
}

// all returns what was sent of a script; "" stands for every one.
func (p *tap) all(script string) []sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []sent
	for _, s := range p.sent {
		if script == "" || s.script == script {
			found = append(found, s)
		}
	}
	return found
}

// count returns how often a script was sent; "" stands for every one.
func (p *tap) count(script string) int { return len(p.all(script)) }

// digest returns what EVALSHA calls a script.
func digest(script string) string { return redislock.ScriptsByName[script].SHA1() }

// An acquiring is an Acquire that is under way.
type acquiring struct {
	done  chan struct{}
	got   *fencehold.Lease
	err   error
	began time.Time
	took  time.Duration
}

// startAcquire begins to wait for a lock.
func startAcquire(t testing.TB, c *fencehold.Client, name string, opts ...fencehold.Option) *acquiring {
	a := &acquiring{done: make(chan struct{}), began: time.Now()}
	ctx := bounded(t)
	go func() {
		defer close(a.done)
		a.got, a.err = c.Mutex(name, opts...).Acquire(ctx)
		a.took = time.Since(a.began)
	}()
	return a
}

// lease waits for the grant.
func (a *acquiring) lease(t testing.TB) *fencehold.Lease {
	t.Helper()
	<-a.done
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.got
}

// fails waits for the end of a wait without a grant.
func (a *acquiring) fails(t testing.TB) error {
	t.Helper()
	<-a.done
	if a.err == nil {
		t.Fatal("granted")
	}
	return a.err
}
