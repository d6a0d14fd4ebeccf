//go:build unix

package redislock_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// A password, and how it is written in a URL: a plus needs no encoding.
const (
	oddPassword = "p@s/s+#%=:w rd"
	oddEncoded  = "p%40s%2Fs+%23%25%3D%3Aw%20rd"
)

// oddServer is a server for all kinds of URLs, with a user "app" beside the
// default one.
func oddServer(t *testing.T) (server *testcluster.Redis, socket string) {
	t.Helper()
	socket = filepath.Join(shortDir(t), "a b", "redis.sock")
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	opts := []testcluster.Option{
		testcluster.Password(oddPassword), testcluster.Config("unixsocket", strconv.Quote(socket)),
	}
	if hasIPv6() {
		opts = append(opts, testcluster.Config("bind", "127.0.0.1 ::1"))
	}
	server = testcluster.StartRedis(t, opts...)
	server.Do("ACL", "SETUSER", "app", "reset", "on", ">"+oddPassword, "~*", "&*", "+@all")
	return server, socket
}

// shortDir returns a directory for a socket, whose path has 107 bytes at most.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fh") //nolint:usetesting // that of the test is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// hasIPv6 tells whether this machine has a loopback address of IPv6.
func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	return err == nil && l.Close() == nil
}

func TestB60URLs(t *testing.T) {
	t.Parallel()
	server, socket := oddServer(t)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(oddPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port := ":" + strconv.Itoa(server.Port())
	rows := []struct{ url, database string }{
		{"redis://app:" + oddEncoded + "@127.0.0.1" + port, "db0"},
		{"redis://:" + oddEncoded + "@localhost" + port + "/3", "db3"},
		{"valkey://default:" + oddEncoded + "@127.0.0.1" + port + "?db=4", "db4"},
		{"redis://app@127.0.0.1" + port + "/5?password_file=" + file, "db5"},
		{"unix://app:" + oddEncoded + "@" + strings.ReplaceAll(socket, " ", "%20") + "?db=2", "db2"},
	}
	if hasIPv6() {
		rows = append(rows, struct{ url, database string }{"redis://app:" + oddEncoded + "@[::1]" + port + "/6", "db6"})
	}
	for _, row := range rows {
		client, err := fencehold.Open(bounded(t), row.url)
		if err != nil {
			t.Errorf("%s: %v", row.url, err)
			continue
		}
		lease := acquire(t, client, "job")
		if space := server.Do("INFO", "keyspace"); !strings.Contains(space, row.database+":keys=") {
			t.Errorf("%s: the databases are %q", row.url, space)
		}
		release(t, lease)
		mustHide(t, client.Info().URL)
		client.Close()
	}
}

// mustHide fails if a text has a piece of the password.
func mustHide(t *testing.T, text string) {
	t.Helper()
	for _, piece := range []string{"p@s", "s/s", "w rd", "p%40", "s%2Fs", "w%20", "/s+", "#%", "+%23"} {
		if strings.Contains(text, piece) {
			t.Errorf("%q shows %q of the password", text, piece)
		}
	}
}

func TestB60WrongURLs(t *testing.T) {
	t.Parallel()
	server, socket := oddServer(t)
	host := "127.0.0.1:" + strconv.Itoa(server.Port())
	for url, want := range map[string]error{
		"redis://app:" + oddPassword + "@" + host:           fencehold.ErrInvalid,
		"redis://app:" + oddEncoded + "@" + host + "/abc":   fencehold.ErrInvalid,
		"redis://app:" + oddEncoded + "@" + host + "?db=-1": fencehold.ErrInvalid,
		"http://app:" + oddEncoded + "@" + host:             fencehold.ErrInvalid,
		"redis://app:" + oddEncoded + "@":                   fencehold.ErrInvalid,
		"redis://app:" + oddEncoded + "x@" + host:           fencehold.ErrUnavailable,
		"redis://app:p%2540s@" + host:                       fencehold.ErrUnavailable, // encoded twice
		"redis://nobody:" + oddEncoded + "@" + host:         fencehold.ErrUnavailable,
		"redis://" + host:                                   fencehold.ErrUnavailable,
		"redis://app:" + oddEncoded + "@" + host + "/99":    fencehold.ErrInvalid,
		// There is no TLS here, and the server waits for the end of a line.
		"rediss://app:" + oddEncoded + "@" + host + "?dial_timeout=1s":                       fencehold.ErrUnavailable,
		"unix://app:" + oddEncoded + "@" + strings.ReplaceAll(socket, " ", "%20") + ".other": fencehold.ErrUnavailable,
	} {
		mustRefuse(t, url, want)
	}
}

// mustRefuse fails unless a URL leads to no lock, soon, and without a word
// about the password.
func mustRefuse(t *testing.T, url string, want error) {
	t.Helper()
	began := time.Now()
	client, err := fencehold.Open(bounded(t), url)
	if err == nil {
		defer client.Close()
		_, err = client.Mutex("job").TryAcquire(bounded(t))
	}
	if err == nil {
		t.Errorf("%s: granted", url)
		return
	}
	within(t, url, time.Since(began), 2*time.Second)
	mustBe(t, err, want)
	mustHide(t, err.Error())
}

func TestB60TLS(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t, testcluster.TLS(), testcluster.Password(oddPassword))
	secure := "rediss://:" + oddEncoded + "@" + server.Addr()
	release(t, acquire(t, openClient(t, secure+"?cacert="+server.CAFile()), "job"))
	release(t, acquire(t, openClient(t, secure+"?insecure=1"), "job"))
	mustRefuse(t, secure, fencehold.ErrUnavailable)
	mustRefuse(t, secure+"?servername=example.org&cacert="+server.CAFile(), fencehold.ErrUnavailable)
	mustRefuse(t, secure+"?cacert="+server.CAFile()+".none", fencehold.ErrInvalid)
	mustRefuse(t, "redis://:"+oddEncoded+"@"+server.Addr(), fencehold.ErrUnavailable)
}

// TLS under Sentinel and in a Cluster, to every server of them.
func TestB60TLSOfManyServers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) (url, ca string){
		"sentinel": func(t *testing.T) (url, ca string) {
			set := testcluster.StartSentinel(t, 1, 3, testcluster.TLS(), testcluster.Password(oddPassword))
			return set.URL(), set.Servers()[0].CAFile()
		},
		"cluster": func(t *testing.T) (url, ca string) {
			cluster := testcluster.StartCluster(t, 3, 0, testcluster.TLS(), testcluster.Password(oddPassword))
			return cluster.URL(), cluster.Nodes()[0].CAFile()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, ca := start(t)
			secure := strings.Replace(plain, "redis+", "rediss+", 1)
			a, b := openClient(t, secure+"?cacert="+ca), openClient(t, secure+"?cacert="+ca)
			lease := acquire(t, a, "job")
			next := startAcquire(t, b, "job")
			awaitWaiters(t, a, "job", 1)
			release(t, lease)
			release(t, next.lease(t))
			mustHide(t, a.Info().URL)
			mustFail(t, secure+"?dial_timeout=1s")
			mustFail(t, plain+"?dial_timeout=1s")
		})
	}
}

// mustFail fails if a URL leads to a lock.
func mustFail(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	client, err := fencehold.Open(ctx, url)
	if err == nil {
		defer client.Close()
		_, err = client.Mutex("job").TryAcquire(ctx)
	}
	if err == nil {
		t.Error("granted")
		return
	}
	mustHide(t, err.Error())
}

// Whoever asks for TLS sends nothing without it.
func TestB60NoFallbackToPlainText(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	p := testcluster.StartProxy(t, server.Addr())
	p.OnRequest(func(b []byte) {
		if strings.Contains(string(b), "HELLO") || strings.Contains(string(b), "AUTH") {
			t.Errorf("sent without TLS: %q", b)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	client, err := fencehold.Open(ctx, "rediss://:"+oddEncoded+"@"+p.Addr())
	if err == nil {
		client.Close()
		t.Fatal("opened")
	}
	mustHide(t, err.Error())
}

// TestOpenErrors: who cannot connect learns where, and what to try instead.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	server, secure := testcluster.StartRedis(t), testcluster.StartRedis(t, testcluster.TLS())
	limited := testcluster.StartRedis(t)
	limited.Do("ACL", "SETUSER", "app", "reset", "on", ">"+oddPassword, "~*", "&*", "+@all", "-evalsha")
	cluster := testcluster.StartCluster(t, 3, 0)
	mute := testcluster.StartRedis(t)
	mute.Pause()
	for _, c := range []struct{ url, says string }{
		{"redis://" + secure.Addr(), secure.Addr()},
		{"redis://" + secure.Addr(), "does this port speak TLS? rediss://"},
		{"redis+cluster://" + secure.Addr(), "does this port speak TLS? rediss://"},
		{"rediss://" + secure.Addr(), secure.Addr() + ": tls: "},
		{"redis://nowhere.invalid", "nowhere.invalid:6379: "},
		{"redis://" + mute.Addr() + "?dial_timeout=300ms", mute.Addr()},
		{"redis://" + server.Addr() + "/99", "database 99: the server has no database of this number"},
		{"redis://" + cluster.Nodes()[0].Addr() + "/1", "redis+cluster://"},
		{"redis+sentinel://" + server.Addr() + "/m", "this is no Sentinel (use redis://)"},
		{"redis://app:" + oddEncoded + "@" + limited.Addr(), "fencehold help redis"},
	} {
		client, err := fencehold.Open(bounded(t), c.url)
		if err == nil {
			_, err = client.Mutex("job").TryAcquire(bounded(t))
			client.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one with %q", c.url, err, c.says)
		}
	}
}
