package testcluster

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Redis is one server. Its methods fail the test when the server does not do
// what they ask for, and may be called from several goroutines.
type Redis struct {
	tb      TB
	set     settings
	dir     string
	socket  string
	port    int
	onStart func() error // what has to be told to a fresh process; nil: nothing

	mu    sync.Mutex // guards proc
	proc  *process
	proxy *Proxy // before a node of a Cluster, see [Cluster.Proxies]; nil: none
}

// StartRedis starts a server that keeps nothing on disk, unless opts say so,
// and returns when it answers.
func StartRedis(tb TB, opts ...Option) *Redis {
	tb.Helper()
	r := newRedis(tb, newSettings(opts))
	if err := r.launch(); err != nil {
		r.fatalf("start: %v", err)
	}
	return r
}

// newRedis prepares a server, and that it ends with the test.
func newRedis(tb TB, set settings) *Redis {
	tb.Helper()
	r := &Redis{tb: tb, set: set, dir: tb.TempDir()}
	tb.Cleanup(r.end)
	if err := r.prepare(); err != nil {
		tb.Fatalf("prepare a server: %v", err)
	}
	return r
}

// prepare makes the files that do not depend on the port.
func (r *Redis) prepare() error {
	if r.set.tls {
		if err := authority().write(r.dir); err != nil {
			return err
		}
	}
	if !r.set.unix {
		return nil
	}
	// The directory of a test may be too long for the path of a socket.
	short, err := os.MkdirTemp("", "fh")
	if err != nil {
		return err
	}
	r.tb.Cleanup(func() { _ = os.RemoveAll(short) })
	r.socket = filepath.Join(short, "redis.sock")
	return nil
}

// errTaken is the end of a server whose port somebody took before it.
var errTaken = errors.New("the port was taken meanwhile")

// launch starts the server for the first time, at a port that it finds.
func (r *Redis) launch() error {
	for {
		port, err := takePort()
		if err != nil {
			return err
		}
		r.port = port
		if err := r.writeConfig(); err != nil {
			return err
		}
		if err := r.start(); !errors.Is(err, errTaken) {
			return err
		}
	}
}

// start starts a process and returns when it answers.
func (r *Redis) start() error {
	args := []string{filepath.Join(r.dir, configFile)}
	if r.set.sentinel {
		args = append(args, "--sentinel")
	}
	p, err := spawn(r.logFile(), "redis-server", args...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.proc = p
	r.mu.Unlock()
	if err := await(startLimit, pollEvery, func() error { return r.answers(p) }); err != nil {
		return err
	}
	if r.onStart == nil {
		return nil
	}
	return r.onStart()
}

// answers returns nil if process p serves clients.
func (r *Redis) answers(p *process) error {
	if p.ended() {
		if strings.Contains(r.logTail(), "Failed listening") {
			return final{errTaken}
		}
		return final{fmt.Errorf("it ended: %s", p.cmd.ProcessState)}
	}
	_, err := r.ask(probeLimit, "PING")
	return err
}

// end kills the server at the end of the test. If that failed, it shows what
// the server had to say.
func (r *Redis) end() {
	if p := r.process(); p != nil {
		p.kill()
	}
	returnPort(r.port)
	if t, ok := r.tb.(interface{ Failed() bool }); ok && t.Failed() {
		r.showLog()
	}
}

// process returns the present process, or the last one; nil if there was none.
func (r *Redis) process() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proc
}

// Addr returns the address, 127.0.0.1:port.
func (r *Redis) Addr() string { return loopback(r.port) }

// Port returns the port; it stays the same over restarts.
func (r *Redis) Port() int { return r.port }

// URL returns redis://127.0.0.1:port, or rediss:// with [TLS], with the
// password if there is one.
func (r *Redis) URL() string {
	u := url.URL{Scheme: "redis", User: userinfo(r.set.password), Host: r.Addr()}
	if r.set.tls {
		u.Scheme = "rediss"
	}
	return u.String()
}

// userinfo returns the part of a URL that has the password; nil if it is empty.
func userinfo(password string) *url.Userinfo {
	if password == "" {
		return nil
	}
	return url.UserPassword("", password)
}

// Socket returns the path of the socket of [UnixSocket]; empty without it.
func (r *Redis) Socket() string { return r.socket }

// CAFile returns the path of the certificate of the authority of [TLS], which
// is the same for all servers of a process. Empty without it.
func (r *Redis) CAFile() string {
	if !r.set.tls {
		return ""
	}
	return filepath.Join(r.dir, caFile)
}

// Do runs one command on a connection of its own and returns the answer as
// text: the elements of an array are lines, null is empty. It fails the test
// when the server refuses, or does not answer within ten seconds.
func (r *Redis) Do(args ...string) string {
	r.tb.Helper()
	text, err := r.TryDo(args...)
	if err != nil {
		r.fatalf("%s: %v", args[0], err) // the arguments may be secret
	}
	return text
}

// TryDo is [Redis.Do] that returns the error. The text of an error that the
// server answered with is as it was sent, as in "MOVED 7 127.0.0.1:7000".
func (r *Redis) TryDo(args ...string) (string, error) { return r.ask(commandLimit, args...) }

// ask runs one command, within limit.
func (r *Redis) ask(limit time.Duration, args ...string) (string, error) {
	c, err := r.dial(limit)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	return c.do(args...)
}

// fatalf fails the test in the name of the server, and shows its log.
func (r *Redis) fatalf(format string, args ...any) {
	r.tb.Helper()
	r.showLog()
	r.tb.Fatalf("redis at %s: %s", r.Addr(), fmt.Sprintf(format, args...))
}
