package goredislock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/redislock"
)

// patience ends what hangs.
const patience = 20 * time.Second

// listening is a subscription under test.
type listening struct {
	proxy    *testcluster.Proxy
	ready    chan struct{}
	messages chan string
	ended    chan error
	cancel   context.CancelFunc
}

// two is a channel with a name so long that its confirmation comes in pieces,
// after that of another one.
var two = strings.Repeat("x", 1<<18) + "two"

// listenThrough subscribes to the channels "one" and two through a proxy.
func listenThrough(t *testing.T, proxy *testcluster.Proxy) *listening {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	c, err := newConn(client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	l := &listening{
		proxy: proxy, ready: make(chan struct{}), messages: make(chan string, 8),
		ended: make(chan error, 1), cancel: cancel,
	}
	go func() {
		l.ended <- c.Subscribe(ctx, redislock.Subscription{
			Channels: []string{"one", two},
			Ready:    func() { close(l.ready) },
			Message:  func(payload string) { l.messages <- payload },
		})
	}()
	return l
}

// receiveFrom returns what comes from a channel.
func receiveFrom[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("never came: %s", what)
		panic("unreachable")
	}
}

func TestReadyAfterAllConfirmations(t *testing.T) {
	server := testcluster.StartRedis(t)
	proxy := testcluster.StartProxy(t, server.Addr())
	hold := proxy.HoldReplies("two")
	l := listenThrough(t, proxy)
	receiveFrom(t, "the second confirmation", hold.Seen())
	select {
	case <-l.ready:
		t.Error("ready with one confirmation outstanding")
	case <-time.After(200 * time.Millisecond):
	}
	hold.Release()
	receiveFrom(t, "ready", l.ready)
	server.Do("PUBLISH", two, "hello")
	if got := receiveFrom(t, "a message", l.messages); got != "hello" {
		t.Errorf("heard %q", got)
	}
}

func TestSubscriptionEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		end   func(*listening, *testcluster.Redis)
		want  error // nil: any
		limit time.Duration
	}{
		{"context", func(l *listening, _ *testcluster.Redis) { l.cancel() }, context.Canceled, time.Second},
		{"reset", func(l *listening, _ *testcluster.Redis) { l.proxy.Reset() }, nil, time.Second},
		{"killed", func(_ *listening, r *testcluster.Redis) { r.Do("CLIENT", "KILL", "TYPE", "pubsub") }, nil, time.Second},
		{"cut", func(l *listening, _ *testcluster.Redis) { l.proxy.Cut() }, errSilent, (maxSilent + 2) * pingEvery},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := testcluster.StartRedis(t)
			l := listenThrough(t, testcluster.StartProxy(t, server.Addr()))
			receiveFrom(t, "ready", l.ready)
			began := time.Now()
			test.end(l, server)
			err := receiveFrom(t, "the end", l.ended)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("ended by %v, want %v", err, test.want)
			}
			if took := time.Since(began); took > test.limit {
				t.Errorf("ended after %v", took)
			}
			if test.want == nil && server.Do("PUBSUB", "NUMSUB", "one") != "one\n0" {
				t.Error("subscribed again")
			}
		})
	}
}

func TestSubscriptionOutlivesSilence(t *testing.T) {
	server := testcluster.StartRedis(t)
	l := listenThrough(t, testcluster.StartProxy(t, server.Addr()))
	receiveFrom(t, "ready", l.ready)
	select {
	case err := <-l.ended:
		t.Errorf("ended without a message: %v", err)
	case <-time.After((maxSilent + 2) * pingEvery):
	}
}
