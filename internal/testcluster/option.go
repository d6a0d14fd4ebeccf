package testcluster

import "slices"

// Option changes how servers are started. Of a set of servers it applies to
// each that holds data.
type Option func(*settings)

// settings is what options change.
type settings struct {
	config           []directive
	password         string // of the default user; empty: none
	sentinelPassword string
	tls              bool
	unix             bool
	sentinel         bool
	cluster          bool
}

// directive is one line of a configuration file.
type directive struct{ name, value string }

// newSettings applies opts to the defaults.
func newSettings(opts []Option) settings { return settings{}.with(opts...) }

// with returns a copy of s that opts are applied to.
func (s settings) with(opts ...Option) settings {
	s.config = slices.Clone(s.config)
	for _, o := range opts {
		o(&s)
	}
	return s
}

// Config adds a line to the configuration file, after those of the harness. The
// value is written as it is, so that it can be several arguments; one that is
// empty is written as "".
func Config(name, value string) Option {
	return func(s *settings) { s.config = append(s.config, directive{name, value}) }
}

// Password makes the servers demand password of the default user. It must have
// no line break.
func Password(password string) Option {
	return func(s *settings) { s.password = password }
}

// SentinelPassword makes the sentinels demand password; [Password] is for the
// servers that hold data.
func SentinelPassword(password string) Option {
	return func(s *settings) { s.sentinelPassword = password }
}

// TLS makes the servers speak TLS only, among each other too. Their certificate
// is for 127.0.0.1, ::1 and localhost, by the authority in [Redis.CAFile].
// Clients need no certificate.
func TLS() Option {
	return func(s *settings) { s.tls = true }
}

// UnixSocket makes the server listen at a socket too, see [Redis.Socket].
func UnixSocket() Option {
	return func(s *settings) { s.unix = true }
}

// asSentinel makes the process a sentinel, with its own password.
func asSentinel(s *settings) {
	s.sentinel = true
	s.password = s.sentinelPassword
}

// asNode makes the server a node of a Cluster.
func asNode(s *settings) { s.cluster = true }
