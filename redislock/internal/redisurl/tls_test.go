package redisurl_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// identity is a certificate that is its own authority, in files and in use.
type identity struct {
	cert, key string // paths
	pair      tls.Certificate
	pool      *x509.CertPool
}

// newIdentity makes one for a host name.
func newIdentity(t *testing.T, name string) identity {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	check(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	check(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	check(t, err)
	id := identity{
		cert: write(t, "cert", string(certPEM)), key: write(t, "key", string(keyPEM)),
		pair: pair, pool: x509.NewCertPool(),
	}
	id.pool.AppendCertsFromPEM(certPEM)
	return id
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve answers TLS connections with one byte until the test ends, and returns its
// address.
func serve(t *testing.T, config *tls.Config) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte{1})
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// connect opens a URL and reads the byte.
func connect(raw string) error {
	u, err := redisurl.Parse(raw)
	if err != nil {
		return err
	}
	config, err := u.TLSConfig()
	if err != nil {
		return err
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: u.DialTimeout}, u.Network, u.Addrs[0], config)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(u.DialTimeout))
	_, err = conn.Read(make([]byte, 1))
	return err
}

func TestTLSConfigConnects(t *testing.T) {
	server, client := newIdentity(t, "redis.example"), newIdentity(t, "client")
	open := serve(t, &tls.Config{Certificates: []tls.Certificate{server.pair}})
	mutual := serve(t, &tls.Config{
		Certificates: []tls.Certificate{server.pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: client.pool,
	})
	old := serve(t, &tls.Config{
		Certificates: []tls.Certificate{server.pair}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	})
	trust, login := "cacert="+server.cert+"&servername=redis.example", "&cert="+client.cert+"&key="+client.key
	for raw, want := range map[string]string{
		open + "?" + trust:              "",
		open + "?insecure=true":         "",
		open:                            "certificate",
		open + "?" + trust + "x":        "certificate is valid for redis.example",
		open + "?cacert=" + server.cert: "certificate",
		mutual + "?" + trust + login:    "",
		mutual + "?" + trust:            "certificate required",
		old + "?insecure=true":          "protocol version",
	} {
		err := connect("rediss://" + raw)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", raw, err, want)
		}
	}
}

func TestTLSConfigOfPlainText(t *testing.T) {
	u, err := redisurl.Parse("redis://h")
	check(t, err)
	if config, err := u.TLSConfig(); config != nil || err != nil {
		t.Errorf("config %v, error %v", config, err)
	}
}

func TestTLSConfigRefuses(t *testing.T) {
	id, other := newIdentity(t, "a"), newIdentity(t, "b")
	empty := write(t, "empty", "")
	for query, want := range map[string][]string{
		"cacert=/missing":                       {"option cacert", "/missing"},
		"cacert=" + empty:                       {"option cacert", empty, "has no PEM certificate"},
		"cert=/missing&key=" + id.key:           {"options cert", "/missing"},
		"cert=" + id.cert + "&key=" + empty:     {"options cert", empty},
		"cert=" + id.cert + "&key=" + other.key: {"options cert", other.key, "does not match"},
	} {
		err := connect("rediss://h?" + query)
		var refusal *redisurl.Error
		if err == nil || errors.As(err, &refusal) {
			t.Errorf("%s: error %v", query, err)
			continue
		}
		for _, words := range want {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: error %v, want one with %q", query, err, words)
			}
		}
	}
}
