package testcluster

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestStart(t *testing.T) {
	began := time.Now()
	r := StartRedis(t)
	t.Logf("started within %v", time.Since(began))
	if got := r.Do("PING"); got != "PONG" {
		t.Errorf("PING = %q", got)
	}
	if got, want := r.URL(), "redis://"+r.Addr(); got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	r.Do("RPUSH", "list", "a", "", "b")
	if got := r.Do("LRANGE", "list", "0", "-1"); got != "a\n\nb" {
		t.Errorf("LRANGE = %q", got)
	}
	if got := r.Do("GET", "nothing"); got != "" {
		t.Errorf("GET of nothing = %q", got)
	}
	if _, err := r.TryDo("INCR", "list"); err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE ") {
		t.Errorf("INCR of a list = %v", err)
	}
	r.Do("DEBUG", "SLEEP", "0") // is allowed
}

func TestRestartKeepsWhatIsWritten(t *testing.T) {
	r := StartRedis(t, Config("appendonly", "yes"), Config("appendfsync", "always"))
	for _, c := range []struct {
		name string
		down func()
	}{{"kill", r.Kill}, {"stop", r.Stop}} {
		r.Do("SET", c.name, "kept")
		pid, addr := r.PID(), r.Addr()
		c.down()
		if _, err := r.TryDo("PING"); err == nil {
			t.Errorf("%s: it still answers", c.name)
		}
		r.Start()
		if r.PID() == pid || r.Addr() != addr {
			t.Errorf("%s: pid %d, address %s", c.name, r.PID(), r.Addr())
		}
		if got := r.Do("GET", c.name); got != "kept" {
			t.Errorf("%s: GET = %q", c.name, got)
		}
	}
}

func TestRestartForgets(t *testing.T) {
	r := StartRedis(t)
	r.Do("SET", "k", "v")
	r.Restart()
	if got := r.Do("GET", "k"); got != "" {
		t.Errorf("GET = %q", got)
	}
}

func TestPause(t *testing.T) {
	r := StartRedis(t)
	r.Pause()
	if _, err := r.ask(50*time.Millisecond, "PING"); !os.IsTimeout(err) {
		t.Errorf("while paused: %v", err)
	}
	r.Resume()
	r.Do("PING")
}

func TestReplica(t *testing.T) {
	r := StartRedis(t, Password("pass word"))
	r.Do("SET", "k", "v")
	replica := StartReplica(t, r)
	if got := replica.Do("GET", "k"); got != "v" {
		t.Errorf("GET = %q", got)
	}
	r.Do("SET", "k", "w")
	if got := r.Do("WAIT", "1", "5000"); got != "1" {
		t.Errorf("WAIT = %q", got)
	}
}

func TestPassword(t *testing.T) {
	r := StartRedis(t, Password(`se"c ret`))
	if got, want := r.URL(), "redis://:se%22c%20ret@"+r.Addr(); got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := exchange(t, c, "PING\r\n"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("without the password: %q", got)
	}
}

func TestTLS(t *testing.T) {
	r := StartRedis(t, TLS())
	ca, err := os.ReadFile(r.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		c, err := tls.Dial("tcp", r.Addr(), &tls.Config{RootCAs: pool, ServerName: host})
		if err != nil {
			t.Fatal(err)
		}
		if got := exchange(t, c, "PING\r\n"); got != "+PONG\r\n" {
			t.Errorf("PING = %q", got)
		}
		c.Close()
	}
	if c, err := tls.Dial("tcp", r.Addr(), &tls.Config{RootCAs: x509.NewCertPool()}); err == nil {
		c.Close()
		t.Error("a client that does not know the authority was content")
	}
	if replica := StartReplica(t, r); replica.Do("PING") != "PONG" {
		t.Error("no replica with TLS")
	}
}

func TestUnixSocket(t *testing.T) {
	r := StartRedis(t, UnixSocket())
	c, err := net.Dial("unix", r.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := exchange(t, c, "PING\r\n"); got != "+PONG\r\n" {
		t.Errorf("PING = %q", got)
	}
}

// exchange sends a line and returns the answer.
func exchange(t *testing.T, c net.Conn, line string) string {
	t.Helper()
	c.SetDeadline(time.Now().Add(commandLimit))
	if _, err := io.WriteString(c, line); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 512)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}
