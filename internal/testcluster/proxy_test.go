package testcluster

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// proxied returns a server and a proxy for it.
func proxied(t *testing.T) (*Redis, *Proxy) {
	t.Helper()
	r := StartRedis(t)
	return r, StartProxy(t, r.Addr())
}

// through connects through a proxy.
func through(t *testing.T, p *Proxy) *conn {
	t.Helper()
	nc, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(commandLimit))
	return &conn{Conn: nc, in: bufio.NewReader(nc)}
}

// want demands an answer.
func (c *conn) want(t *testing.T, want string, args ...string) {
	t.Helper()
	if got, err := c.do(args...); err != nil || got != want {
		t.Errorf("%s = %q, %v, want %q", args, got, err, want)
	}
}

// wantSilence demands that nothing comes for a moment.
func (c *conn) wantSilence(t *testing.T) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if got, err := readReply(c.in); !os.IsTimeout(err) {
		t.Errorf("came %q, %v instead of silence", got, err)
	}
	c.SetDeadline(time.Now().Add(commandLimit))
}

// eventually demands that check is true within a limit.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	err := await(startLimit, pollEvery, func() error {
		if !check() {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// send sends commands at once, and waits for no answer.
func (c *conn) send(t *testing.T, commands ...string) {
	t.Helper()
	var all string
	for _, line := range commands {
		all += request(strings.Fields(line))
	}
	if _, err := io.WriteString(c, all); err != nil {
		t.Fatal(err)
	}
}

func TestProxyPasses(t *testing.T) {
	_, p := proxied(t)
	a, b := through(t, p), through(t, p)
	big := strings.Repeat("x", 1<<20)
	a.want(t, "OK", "SET", "k", big)
	b.want(t, big, "GET", "k")
	if n := p.Connections(); n != 2 {
		t.Errorf("%d connections", n)
	}
	io.WriteString(a, "PING\r\n")
	if got, err := readReply(a.in); got != "PONG" {
		t.Errorf("an inline command = %q, %v", got, err)
	}
	a.want(t, "OK", "SET", "k", "v")
	a.Close()
	eventually(t, "one connection left", func() bool { return p.Connections() == 1 })
	b.want(t, "v", "GET", "k")
}

func TestProxyPassesTLS(t *testing.T) {
	r := StartRedis(t, TLS())
	p := StartProxy(t, r.Addr())
	behind := &Redis{tb: t, set: r.set, port: p.Port()} // the same server, through the proxy
	for range 20 {
		if got := behind.Do("ECHO", strings.Repeat("*1\r\n", 20000)); len(got) != 80000 {
			t.Errorf("ECHO = %d bytes", len(got))
		}
	}
}

func TestProxyCut(t *testing.T) {
	r, p := proxied(t)
	old := through(t, p)
	old.want(t, "OK", "SET", "k", "before")
	p.Cut()
	fresh := through(t, p)
	for _, c := range []*conn{old, fresh} {
		c.send(t, "SET k cut")
		c.wantSilence(t)
	}
	r.Kill() // is not seen
	old.wantSilence(t)
	r.Start()
	p.Heal()
	for _, c := range []*conn{old, fresh} {
		if _, err := readReply(c.in); err == nil || os.IsTimeout(err) {
			t.Errorf("after the cut: %v", err)
		}
	}
	through(t, p).want(t, "", "GET", "k")
}

func TestProxyCutLosesReplies(t *testing.T) {
	_, p := proxied(t)
	sub, pub := through(t, p), through(t, p)
	sub.want(t, "subscribe\nc\n1", "SUBSCRIBE", "c")
	hold := p.HoldReplies("lost")
	pub.want(t, "1", "PUBLISH", "c", "lost")
	<-hold.Seen()
	p.Cut()
	hold.Release()
	sub.wantSilence(t)
}

func TestProxyReset(t *testing.T) {
	r, p := proxied(t)
	c := through(t, p)
	c.want(t, "PONG", "PING")
	p.Reset()
	if _, err := readReply(c.in); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the reset: %v", err)
	}
	through(t, p).want(t, "PONG", "PING")
	r.Kill()
	behind := &Redis{tb: t, port: p.Port()}
	if got, err := behind.TryDo("PING"); err == nil {
		t.Errorf("without a server the answer is %q", got)
	}
}

func TestProxyRefuse(t *testing.T) {
	_, p := proxied(t)
	c := through(t, p)
	c.want(t, "PONG", "PING")
	p.Refuse()
	if nc, err := net.Dial("tcp", p.Addr()); err == nil {
		nc.Close()
		t.Error("a connection was accepted")
	}
	c.want(t, "PONG", "PING")
	p.Heal()
	through(t, p).want(t, "PONG", "PING")
	c.want(t, "PONG", "PING")
}

func TestProxyDelay(t *testing.T) {
	_, p := proxied(t)
	c := through(t, p)
	const d = 500 * time.Millisecond
	for _, row := range []struct {
		name  string
		delay func(time.Duration)
	}{{"requests", p.Delay}, {"replies", p.DelayReplies}} {
		row.delay(d)
		began := time.Now()
		c.send(t, "INCR "+row.name, "INCR "+row.name, "INCR "+row.name)
		for _, want := range []string{"1", "2", "3"} {
			if got, err := readReply(c.in); got != want {
				t.Errorf("%s: answer %q, %v, want %s", row.name, got, err, want)
			}
		}
		if took := time.Since(began); took < d || took > 2*d {
			t.Errorf("%s: three at once took %v", row.name, took)
		}
		row.delay(0)
	}
}

func TestProxyHoldRequests(t *testing.T) {
	r, p := proxied(t)
	c, other := through(t, p), through(t, p)
	h := p.HoldRequests("hold-me")
	c.send(t, "SET a before", "SET b hold-me", "SET c after")
	if got, err := readReply(c.in); got != "OK" {
		t.Errorf("the one before = %q, %v", got, err)
	}
	<-h.Seen()
	c.wantSilence(t)
	other.want(t, "before\n\n", "MGET", "a", "b", "c")
	c.Close()
	eventually(t, "the client has left", func() bool { return p.Connections() == 1 })
	if got := r.Do("EXISTS", "b", "c"); got != "0" {
		t.Errorf("%s keys came before the release", got)
	}
	h.Release()
	eventually(t, "what was held comes late", func() bool { return r.Do("MGET", "b", "c") == "hold-me\nafter" })
	other.want(t, "OK", "SET", "d", "hold-me")
}

func TestProxyHoldReplies(t *testing.T) {
	_, p := proxied(t)
	sub, pub := through(t, p), through(t, p)
	sub.want(t, "subscribe\nc\n1", "SUBSCRIBE", "c")
	h := p.HoldReplies("late")
	pub.want(t, "1", "PUBLISH", "c", "late")
	<-h.Seen()
	sub.wantSilence(t)
	h.Release()
	if got, err := readReply(sub.in); got != "message\nc\nlate" {
		t.Errorf("released %q, %v", got, err)
	}
}

func TestProxySwallowReply(t *testing.T) {
	r, p := proxied(t)
	p.SwallowReply("INCR", 2)
	for _, want := range []string{"1", "2"} {
		c := through(t, p)
		c.want(t, "PONG", "PING")
		c.send(t, "INCR n", "SET after lost")
		if got, err := readReply(c.in); err == nil || os.IsTimeout(err) {
			t.Errorf("answer %q, %v", got, err)
		}
		if got := r.Do("GET", "n"); got != want {
			t.Errorf("n = %s, want %s", got, want)
		}
	}
	through(t, p).want(t, "3", "INCR", "n")
	if got := r.Do("EXISTS", "after"); got != "0" {
		t.Error("what follows the request was passed on")
	}
}

func TestProxyOnRequest(t *testing.T) {
	_, p := proxied(t)
	var mu sync.Mutex
	var seen []string
	p.OnRequest(func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, string(b))
	})
	c := through(t, p)
	c.send(t, "SET a 1", "GET a")
	readReply(c.in)
	readReply(c.in)
	p.OnRequest(nil)
	c.want(t, "PONG", "PING")
	mu.Lock()
	defer mu.Unlock()
	if want := request([]string{"SET", "a", "1"}); len(seen) != 2 || seen[0] != want {
		t.Errorf("seen %q", seen)
	}
}
