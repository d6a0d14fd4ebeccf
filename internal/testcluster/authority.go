package testcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// The files of [TLS] in a server's directory.
const (
	caFile   = "ca.pem"
	certFile = "server.pem"
	keyFile  = "server-key.pem"
)

// certificates is an authority and what it gave to the servers.
type certificates struct {
	pool  *x509.CertPool
	files map[string][]byte // in PEM, by name
}

// authority returns the certificates of this process, all of which are made at
// the first call. It panics if the system has no randomness.
var authority = sync.OnceValue(func() certificates {
	c, err := makeCertificates()
	if err != nil {
		panic("testcluster: make certificates: " + err.Error())
	}
	return c
})

// makeCertificates makes an authority and a certificate of a server.
func makeCertificates() (certificates, error) {
	ca := template(1, "testcluster authority")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign
	caKey, caDER, err := issue(ca, ca, nil)
	if err != nil {
		return certificates{}, err
	}
	key, der, err := issue(serverTemplate(), ca, caKey)
	if err != nil {
		return certificates{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificates{}, err
	}
	c := certificates{pool: x509.NewCertPool(), files: map[string][]byte{
		caFile:   encode("CERTIFICATE", caDER),
		certFile: encode("CERTIFICATE", der),
		keyFile:  encode("PRIVATE KEY", keyDER),
	}}
	c.pool.AppendCertsFromPEM(c.files[caFile])
	return c, nil
}

// template is what all certificates have.
func template(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

// serverTemplate is the certificate of a server of this machine. Servers are
// clients of each other too.
func serverTemplate() *x509.Certificate {
	t := template(2, "testcluster server")
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	t.DNSNames = []string{"localhost"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	return t
}

// issue makes a key and its certificate. Without the key of an issuer it signs
// itself.
func issue(cert, issuer *x509.Certificate, by crypto.Signer) (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, issuer, key.Public(), by)
	return key, der, err
}

// encode returns DER as PEM.
func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// write writes the files into dir.
func (c certificates) write(dir string) error {
	for name, b := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
