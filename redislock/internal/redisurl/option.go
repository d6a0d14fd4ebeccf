package redisurl

import (
	"fmt"
	"strings"
	"time"
)

// option is one that the query of a URL may have.
type option struct {
	name  string
	where place
	// set takes the decoded value. Its errors name the part.
	set func(r *reading, part, value string) error
}

// place says which schemes an option belongs to.
type place struct {
	holds func(scheme) bool
	rule  string
}

// The places.
var (
	anywhere    = place{holds: func(scheme) bool { return true }}
	withTLS     = place{func(s scheme) bool { return s.tls }, "only with TLS: want a scheme such as rediss"}
	withRedlock = place{
		func(s scheme) bool { return s.mode == Redlock || s.member && s.mode == Single },
		"only with redlock://, or in the URLs of all servers of a Redlock set",
	}
	withReplicas = place{
		func(s scheme) bool { return s.mode != Redlock },
		"not with redlock://, whose servers have no replicas",
	}
	withSentinel = place{func(s scheme) bool { return s.mode == Sentinel }, "only with Sentinels"}
	byOption     = place{
		func(s scheme) bool { return s.byOption },
		"only with redis-sentinel://; elsewhere the path names it: redis+sentinel://HOSTS/MASTER",
	}
)

// secretOption is the option whose value is a password.
const secretOption = "sentinel_password"

// options are all options.
var options = []option{
	{"db", anywhere, setDB},
	{"prefix", anywhere, setPrefix},
	{"max_ttl", withRedlock, setMaxTTL},
	{"drift", withRedlock, setDrift},
	{"node_timeout", withRedlock, timeout(func(u *URL) *time.Duration { return &u.NodeTimeout })},
	{"min_replicas", withReplicas, setMinReplicas},
	{"replica_timeout", withReplicas, timeout(func(u *URL) *time.Duration { return &u.ReplicaTimeout })},
	{"dial_timeout", anywhere, timeout(func(u *URL) *time.Duration { return &u.DialTimeout })},
	{"client_name", anywhere, setClientName},
	{"password_file", anywhere, text(func(u *URL) *string { return &u.PasswordFile })},
	{"cacert", withTLS, text(func(u *URL) *string { return &u.CACert })},
	{"cert", withTLS, text(func(u *URL) *string { return &u.Cert })},
	{"key", withTLS, text(func(u *URL) *string { return &u.Key })},
	{"servername", withTLS, setServerName},
	{"insecure", withTLS, setInsecure},
	{"sentinel_username", withSentinel, text(func(u *URL) *string { return &u.SentinelUsername })},
	{secretOption, withSentinel, text(func(u *URL) *string { return &u.SentinelPassword })},
	{"sentinel_password_file", withSentinel, text(func(u *URL) *string { return &u.SentinelPasswordFile })},
	{"sentinelMasterId", byOption, setMaster},
	{"master", byOption, setMaster},
}

// readOptions reads NAME=VALUE&...
func (r *reading) readOptions(query string) error {
	if query == "" {
		return nil
	}
	for i, item := range strings.Split(query, "&") {
		name, value, found := strings.Cut(item, "=")
		if !found {
			return refuse(fmt.Sprintf("option %d", i+1), "want NAME=VALUE; percent-encode & in a value as %26")
		}
		if err := r.readOption(i+1, name, value); err != nil {
			return err
		}
	}
	return nil
}

// readOption reads the option at position n.
func (r *reading) readOption(n int, name, value string) error {
	opt, known := findOption(name)
	if !known {
		return r.unknownOption(n, name)
	}
	part := "option " + name
	switch {
	case !opt.where.holds(r.scheme):
		return refuse(part, opt.where.rule)
	case r.given[name]:
		return refuse(part, "given twice")
	case value == "" && name != "prefix":
		return refuse(part, "empty: leave it out, or give it a value")
	}
	r.given[name] = true
	decoded, err := decode(part, value)
	if err != nil {
		return err
	}
	return opt.set(r, part, decoded)
}

func findOption(name string) (option, bool) {
	for _, opt := range options {
		if opt.name == name {
			return opt, true
		}
	}
	return option{}, false
}

// unknownOption is the error for a name that no option has. It repeats the name
// if it has the form of one and cannot be the rest of a password.
func (r *reading) unknownOption(n int, name string) error {
	part, rule := fmt.Sprintf("option %d", n), "not known"
	if r.given[secretOption] {
		return refuse(part, rule+"; percent-encode & in a value as %26")
	}
	if len(name) <= maxShown && onlyOf(name, letters+"_") {
		part = fmt.Sprintf("option %q", name)
	}
	if name == "password" {
		return refuse(part, rule+": write the password before the host, as :PASSWORD@, or use password_file")
	}
	if near := nearestOption(name); near != "" {
		return refuse(part, fmt.Sprintf("%s: is %q meant?", rule, near))
	}
	return refuse(part, rule)
}
