package goredislock_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// patience ends what hangs.
const patience = 20 * time.Second

// bounded returns a context that ends what hangs.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// request returns a request for a lock by a holder of its own.
func request(name string) driver.Request {
	return driver.Request{Name: name, Holder: driver.NewHolder(), TTL: 10 * time.Second}
}

// clientOn returns a client of fencehold on a backend.
func clientOn(t *testing.T, backend driver.Backend, opts ...fencehold.Option) *fencehold.Client {
	t.Helper()
	client, err := fencehold.New(backend, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// proxied is a backend that reaches its server through a proxy.
type proxied struct {
	driver.Backend
	server *testcluster.Redis
	proxy  *testcluster.Proxy
	client *redis.Client
}

// newProxied returns a backend whose scripts the server has already.
func newProxied(t *testing.T, opts redis.Options) *proxied {
	t.Helper()
	p := &proxied{server: testcluster.StartRedis(t)}
	p.proxy = testcluster.StartProxy(t, p.server.Addr())
	opts.Addr = p.proxy.Addr()
	p.client = redis.NewClient(&opts)
	p.Backend = backendOn(t, p.client, nil)
	warm(t, p.Backend)
	return p
}

// warm runs every script of a grant's life once.
func warm(t *testing.T, backend driver.Backend) {
	t.Helper()
	ctx := bounded(t)
	grant, err := backend.TryAcquire(ctx, request("warm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backend.Renew(ctx, grant, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := backend.Release(ctx, grant, 0); err != nil {
		t.Fatal(err)
	}
}

// counted counts the requests that contain match from now on.
func counted(proxy *testcluster.Proxy, match string) *atomic.Int32 {
	n := new(atomic.Int32)
	proxy.OnRequest(func(request []byte) {
		if bytes.Contains(request, []byte(match)) {
			n.Add(1)
		}
	})
	return n
}

// wantSent demands that so many requests were sent.
func wantSent(t *testing.T, n *atomic.Int32, want int32) {
	t.Helper()
	if got := n.Load(); got != want {
		t.Errorf("%d requests were sent, want %d", got, want)
	}
}

func TestLostReplyIsNotRepeated(t *testing.T) {
	p := newProxied(t, redis.Options{})
	ctx := bounded(t)
	grant, err := p.TryAcquire(ctx, request("stands"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, match string
		run         func() error
	}{
		{"acquire", "lock:job", func() error {
			_, err := p.TryAcquire(ctx, request("job"))
			return err
		}},
		{"renew", "lock:stands", func() error {
			_, err := p.Renew(ctx, grant, time.Second)
			return err
		}},
		{"renew many", "lock:stands", func() error {
			renewals := []*driver.Renewal{{Grant: grant, TTL: time.Second}, {Grant: driver.Grant{Name: "none"}, TTL: time.Second}}
			p.Backend.(driver.BatchRenewer).RenewBatch(ctx, renewals)
			return renewals[0].Err
		}},
		{"release", "lock:stands", func() error { return p.Release(ctx, grant, 0) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := counted(p.proxy, test.match)
			p.proxy.SwallowReply(test.match, 1)
			if err := test.run(); err == nil || errors.Is(err, driver.ErrRefused) || errors.Is(err, fencehold.ErrLost) {
				t.Errorf("error %v, want one that leaves it open", err)
			}
			wantSent(t, n, 1)
		})
	}
}

func TestLostReplyOfAcquire(t *testing.T) {
	p := newProxied(t, redis.Options{})
	client := clientOn(t, p)
	n := counted(p.proxy, "lock:job")
	p.proxy.SwallowReply("lock:job", 1)
	lease, err := client.Mutex("job").TryAcquire(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	wantSent(t, n, 2)
	if value := p.server.Do("GET", "lock:job"); !bytes.Contains([]byte(value), []byte(":"+lease.Token().String()+":")) {
		t.Errorf("token %v is not in %q", lease.Token(), value)
	}
	if err := lease.Release(bounded(t)); err != nil {
		t.Error(err)
	}
}

func TestLostReplyOfRelease(t *testing.T) {
	p := newProxied(t, redis.Options{})
	client := clientOn(t, p)
	lease, err := client.Mutex("job").TryAcquire(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	n := counted(p.proxy, "lock:job")
	p.proxy.SwallowReply("lock:job", 1)
	if err := lease.Release(bounded(t)); err != nil {
		t.Error(err)
	}
	wantSent(t, n, 2)
	if p.server.Do("EXISTS", "lock:job") != "0" {
		t.Error("the lock is still there")
	}
}

func TestContextEndsACall(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}, context.DeadlineExceeded},
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		}, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProxied(t, redis.Options{ReadTimeout: 2 * time.Second})
			p.proxy.Cut()
			ctx, cancel := test.end(t.Context())
			defer cancel()
			began := time.Now()
			if _, err := p.TryAcquire(ctx, request("job")); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("returned after %v", took)
			}
			p.proxy.Heal()
			if _, err := p.TryAcquire(bounded(t), request("job")); err != nil {
				t.Errorf("after healing: %v", err)
			}
		})
	}
}

func TestScriptsFlushed(t *testing.T) {
	p := newProxied(t, redis.Options{})
	ctx := bounded(t)
	flush := func() { p.server.Do("SCRIPT", "FLUSH") }
	flush()
	one, err := p.TryAcquire(ctx, request("one"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := p.TryAcquire(ctx, request("two"))
	if err != nil {
		t.Fatal(err)
	}
	flush()
	renewals := []*driver.Renewal{{Grant: one, TTL: time.Minute}, {Grant: two, TTL: time.Minute}}
	p.Backend.(driver.BatchRenewer).RenewBatch(ctx, renewals)
	for _, r := range renewals {
		if r.Err != nil || r.Renewed.TTL != time.Minute {
			t.Errorf("renewed as %+v, %v", r.Renewed, r.Err)
		}
	}
	flush()
	if err := p.Release(ctx, one, 0); err != nil {
		t.Error(err)
	}
}

func TestCloseLeavesTheClient(t *testing.T) {
	p := newProxied(t, redis.Options{})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Ping(bounded(t)).Err(); err != nil {
		t.Errorf("the caller's client: %v", err)
	}
}
