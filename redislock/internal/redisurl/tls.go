package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSConfig reads the files of the options and returns how to connect, or nil
// without TLS. Its ServerName is empty unless the URL gives one: then the dialer
// has to put in the host that it dials. The errors name option and file.
func (u *URL) TLSConfig() (*tls.Config, error) {
	if !u.TLS {
		return nil, nil
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: u.ServerName, InsecureSkipVerify: u.Insecure,
	}
	if u.CACert != "" {
		pool, err := readPool(u.CACert)
		if err != nil {
			return nil, fmt.Errorf("option cacert: %w", err)
		}
		config.RootCAs = pool
	}
	if u.Cert != "" {
		pair, err := tls.LoadX509KeyPair(u.Cert, u.Key)
		if err != nil {
			return nil, fmt.Errorf("options cert %q and key %q: %w", u.Cert, u.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// readPool reads the PEM certificates of a file, of which there must be one.
func readPool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("has no PEM certificate")}
	}
	return pool, nil
}
