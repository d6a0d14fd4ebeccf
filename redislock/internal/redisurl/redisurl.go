// Package redisurl reads the URLs of the Redis backend. It has a splitter of its
// own, because a list of hosts is not a [net/url.URL].
//
// Its errors name the part that is wrong and the rule. They never repeat the
// text of a part: where a password was not percent-encoded, any part may hold a
// piece of it.
package redisurl

import "time"

// Mode is the arrangement of servers that a URL describes.
type Mode int

// The modes.
const (
	Single   Mode = iota // one server
	Sentinel             // the addresses are Sentinels, which know the server
	Cluster              // the addresses are some nodes of a Cluster
	Redlock              // the addresses are independent servers, of which a majority decides
)

// What a URL means that does not give the option.
const (
	DefaultPrefix         = "lock:"
	DefaultReplicaTimeout = time.Second
	DefaultDialTimeout    = 5 * time.Second
	DefaultClientName     = "fencehold"
	DefaultDrift          = 0.01 // of Redlock
)

// URL is what a URL string says. Make one with [Parse].
type URL struct {
	Mode    Mode
	Network string   // "tcp" or "unix"
	Addrs   []string // HOST:PORT in lower case, or the path of one socket
	TLS     bool     // for servers and Sentinels alike

	Username string // empty: the user "default"
	Password string // empty: none, or the one in PasswordFile
	Master   string // the name that Sentinels know the server by
	DB       int    // number of the database

	SentinelUsername string // how to log in at Sentinels, separate from the server
	SentinelPassword string

	Prefix         string        // begins every key; may be empty
	MinReplicas    int           // how many replicas must have a grant; 0 does not ask
	ReplicaTimeout time.Duration // how long to wait for them, at least 1 ms
	DialTimeout    time.Duration // for one connection, at least 1 ms
	ClientName     string        // what the server lists a connection as

	// Of Redlock alone, elsewhere 0.
	MaxTTL      time.Duration // the longest TTL of any lock, in whole ms; 0: that of the set
	Drift       float64       // how much faster one clock may run than another
	NodeTimeout time.Duration // how long to wait for one server, at least 1 ms; 0: as the TTL has it

	CACert     string // file of the authorities to trust, instead of those of the system
	Cert       string // files of the certificate to log in with, and of its key
	Key        string
	ServerName string // the name that the certificate must have; empty: the host
	Insecure   bool   // any certificate will do

	PasswordFile         string
	SentinelPasswordFile string
}

// Parse reads a URL. Its errors are of type [*Error] and show no password.
func Parse(raw string) (*URL, error) { return parse(raw, false) }

// ParseMember is Parse for a URL that is one of those of a Redlock set: one of a single
// server may have the options of the set, which are 0 where it does not.
func ParseMember(raw string) (*URL, error) { return parse(raw, true) }

func parse(raw string, member bool) (*URL, error) {
	p, err := split(raw)
	if err != nil {
		return nil, err
	}
	p.scheme.member = member
	r := newReading(p.scheme)
	for _, step := range []struct {
		read func(string) error
		text string
	}{
		{r.readUser, p.user},
		{r.readHosts, p.hosts},
		{r.readPath, p.path}, // before the options: db compares itself with the path
		{r.readOptions, p.query},
	} {
		if err := step.read(step.text); err != nil {
			return nil, err
		}
	}
	if err := r.checkWhole(); err != nil {
		return nil, err
	}
	return r.url, nil
}
